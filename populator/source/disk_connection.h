/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to an NBD server. Nothing waits for longer than the stall limit. One thread at a
 * time. */
#ifndef POPULATOR_SOURCE_DISK_CONNECTION_H
#define POPULATOR_SOURCE_DISK_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "populator/source/disk_status.h"
#include "populator/source/disk_uri.h"

struct disk_connection_options {
  const struct disk_uri *uri;
  const char *ca_bundle;
  bool allow_local_addresses;
  int64_t stall_ms;
  const atomic_bool *is_cancelled;   /* looked at while waiting */
  int (*take_socket)(void *context); /* see disk_client.h; may be NULL */
  void *take_context;
};

/* What became of a failed attempt. */
struct disk_failure {
  bool is_transient; /* another attempt may succeed */
  bool is_broken;    /* the connection is of no more use */
};

struct disk_connection;

int disk_connection_open(const struct disk_connection_options *options,
                         struct disk_connection **ret_connection, struct disk_failure *ret_failure,
                         struct error **err);
void disk_connection_close(struct disk_connection *connection);
DEFINE_CLEANUP(struct disk_connection *, disk_connection_close)

uint64_t disk_connection_size(const struct disk_connection *connection);
/* Whether the server is fine with several connections. */
bool disk_connection_is_sharable(const struct disk_connection *connection);
/* Whether it tells where data is. */
bool disk_connection_has_status(const struct disk_connection *connection);

/* Unlike others, *ret_failure is written on failure. */
int disk_connection_read(struct disk_connection *connection, void *buf, size_t len, uint64_t offset,
                         struct disk_failure *ret_failure, struct error **err);
/* Fills status with what the server says from offset on; at least a byte. */
int disk_connection_status(struct disk_connection *connection, uint64_t offset,
                           struct disk_status *status, struct disk_failure *ret_failure,
                           struct error **err);

#endif
