/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that a server listens on. */
#ifndef LIB_HTTP_HTTP_LISTEN_H
#define LIB_HTTP_HTTP_LISTEN_H

#include <stdint.h>

#include "lib/base/error.h"

/* "ADDRESS:PORT", "[ADDRESS]:PORT", or ":PORT" for all addresses of both families. *ret_fd is to be
 * closed. */
int http_listen(const char *where, int *ret_fd, uint16_t *ret_port, struct error **err);

#endif
