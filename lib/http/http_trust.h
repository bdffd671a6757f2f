/* SPDX-License-Identifier: Apache-2.0 */
/* The CAs that servers are checked against, when the operator adds some of his own. curl takes one
 * file in place of the system's; here both are put together, so that a private mirror and a public
 * one work with one setting. */
#ifndef LIB_HTTP_HTTP_TRUST_H
#define LIB_HTTP_HTTP_TRUST_H

#include "lib/base/buffer.h"
#include "lib/base/error.h"

/* The system's CAs, where curl knows of a file of them, and those of the bundle, in PEM. */
int http_trust_load(const char *ca_bundle, struct buffer *ret_pem, struct error **err);

#endif
