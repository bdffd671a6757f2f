/* SPDX-License-Identifier: Apache-2.0 */
/* How a client comes to an export: the fixed newstyle negotiation of NBD. There is one export, by
 * whatever name. */
#ifndef POPULATOR_FORMAT_FOREIGN_DISK_HANDSHAKE_H
#define POPULATOR_FORMAT_FOREIGN_DISK_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

enum disk_handshake_result {
  DISK_HANDSHAKE_SERVE, /* requests follow */
  DISK_HANDSHAKE_LEFT,  /* the client has what it wanted */
  DISK_HANDSHAKE_BROKEN,
};

/* `heard` is called once, when the client's first bytes have come and nothing was answered yet; it
 * may be NULL. When it returns false the client is sent away. */
enum disk_handshake_result disk_handshake(int fd, uint64_t size, bool (*heard)(void *context),
                                          void *context);

#endif
