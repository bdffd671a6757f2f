/* SPDX-License-Identifier: Apache-2.0 */
/* The URL of an NBD server's export, taken apart strictly:
 *
 *   nbd://host[:port]/[export]    nbds://host[:port]/[export]    nbd+unix:///[export]?socket=PATH
 *
 * nbds+unix is not among them: who is on the other side of a unix socket is not told by a
 * certificate. */
#ifndef POPULATOR_SOURCE_DISK_URI_H
#define POPULATOR_SOURCE_DISK_URI_H

#include <stdbool.h>

#include "lib/base/error.h"

struct disk_uri {
  char *label;       /* for messages */
  char *host;        /* NULL for a unix socket */
  char *port;        /* NULL for a unix socket */
  char *path;        /* of a unix socket, or NULL */
  char *export_name; /* "" for the server's default */
  bool is_tls;
};

int disk_uri_parse(const char *text, struct disk_uri *ret_uri, struct error **err);
void disk_uri_clear(struct disk_uri *uri);

#endif
