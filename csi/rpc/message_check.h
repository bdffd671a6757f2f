/* SPDX-License-Identifier: Apache-2.0 */
/* What protobuf-c does not look at in a message from outside: that strings are UTF-8 and hold no
 * NUL (behind which a C string would silently end), and that maps have a bounded number of entries.
 * Done on the encoded bytes, before they are unpacked. */
#ifndef CSI_RPC_MESSAGE_CHECK_H
#define CSI_RPC_MESSAGE_CHECK_H

#include <protobuf-c/protobuf-c.h>

#include "lib/base/error.h"

/* INVALID_ARGUMENT that names the field. */
int message_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t len,
                  struct error **err);

#endif
