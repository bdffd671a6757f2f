/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that work with a connection to an NBD server share: nobody else includes it. */
#ifndef POPULATOR_SOURCE_DISK_CONNECTION_PARTS_H
#define POPULATOR_SOURCE_DISK_CONNECTION_PARTS_H

#include <libnbd.h>

#include "populator/source/disk_connection.h"

/* The most that one request carries. */
#define DISK_REQUEST_BYTES ((size_t)1 << 20)

struct disk_connection {
  const struct disk_connection_options *options;
  struct nbd_handle *nbd;
  uint64_t size;
  uint64_t block; /* the unit that requests must be made in */
  size_t request; /* the most that one may ask for */
  bool is_ready;  /* connected: what fails from here on is an accident */
};

/* How long a wait goes on. */
struct disk_patience {
  int64_t moved_ms; /* when something was last heard */
  int64_t until_ms; /* all of it must be over */
};

struct disk_patience disk_patience_begin(const struct disk_connection *connection);

/* libnbd's last error of this thread, as ours; -1. */
int disk_connection_fail(const struct disk_connection *connection, struct disk_failure *failure,
                         const char *what, struct error **err);
/* The connection is not to be used again. */
int disk_connection_give_up(const struct disk_connection *connection, struct disk_failure *failure,
                            enum error_code code, const char *why, struct error **err);
/* Lets libnbd do what can be done now, or waits a little until something can. */
int disk_connection_move_on(struct disk_connection *connection, struct disk_patience *patience,
                            struct disk_failure *failure, struct error **err);

#endif
