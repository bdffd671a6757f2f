/* SPDX-License-Identifier: Apache-2.0 */
/* A small NBD server: one export that can only be read, with simple replies. It serves the bytes of
 * a file in a foreign format to the program that decodes them, and so must not mind what a hostile
 * client does: everything that it sends is bounded before it is acted upon, and the worst that it
 * gets is a closed connection. */
#ifndef POPULATOR_FORMAT_FOREIGN_DISK_SERVER_H
#define POPULATOR_FORMAT_FOREIGN_DISK_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct disk_server_options {
  uint64_t size;
  /* Exactly len bytes, which lie inside the size. Several threads at once. */
  int (*read)(void *context, void *buf, size_t len, uint64_t offset, struct error **err);
  /* See disk_handshake.h; may be NULL. */
  bool (*heard)(void *context);
  void *context;
  unsigned threads; /* that read at once, for each client */
};

struct disk_server;

struct disk_server *disk_server_new(const struct disk_server_options *options);
/* Nobody may be served any more. */
void disk_server_free(struct disk_server *server);
DEFINE_CLEANUP(struct disk_server *, disk_server_free)

/* Serves a client until it leaves, or somebody shuts the socket down. The socket stays the
 * caller's. 0 when the client has taken its leave, -1 when it just went or broke the protocol.
 * Several clients may be served at once, each by a thread of the caller's. */
int disk_server_serve(struct disk_server *server, int fd);

/* The first reason why something could not be read, as an error of its own; NULL when all could. */
struct error *disk_server_failure(struct disk_server *server);

#endif
