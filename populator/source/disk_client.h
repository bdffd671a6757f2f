/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an export of an NBD server through several connections at once. A connection that breaks or
 * stalls is made anew, with pauses that grow, and what was asked of it is asked again. Any number
 * of threads at once.
 *
 * The server is hostile until proven otherwise: addresses are checked like those of web servers,
 * TLS counts only with a CA to check the certificate against, and what it says about holes is
 * bounded and looked at before it is believed. */
#ifndef POPULATOR_SOURCE_DISK_CLIENT_H
#define POPULATOR_SOURCE_DISK_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "populator/source/disk_uri.h"

/* NULL and 0 mean the default. The strings outlive the client. */
struct disk_client_options {
  const struct disk_uri *uri;
  const char *ca_bundle;      /* for TLS: a file named ca-cert.pem, or a folder that has one */
  bool allow_local_addresses; /* loopback, link-local, metadata; unix sockets */
  unsigned connections;       /* at most; default 4 */
  unsigned retries;           /* default 8 */
  unsigned retry_first_ms;    /* default 200 */
  unsigned stall_s;           /* default 30: nothing for so long breaks the connection */
  bool never_reconnects;      /* a server that is gone does not come back */
  /* In place of connecting: a connected socket, or -1 when there are no more. The URI is a label
   * then. */
  int (*take_socket)(void *context);
  void *take_context;
};

struct disk_client;

/* Connects once, and learns the size. */
int disk_client_open(const struct disk_client_options *options, struct disk_client **ret_client,
                     struct error **err);
void disk_client_close(struct disk_client *client);
DEFINE_CLEANUP(struct disk_client *, disk_client_close)

uint64_t disk_client_size(const struct disk_client *client);

/* Exactly len bytes, which lie inside the size. */
int disk_client_read(struct disk_client *client, void *buf, size_t len, uint64_t offset,
                     struct error **err);
/* See source.h: where data is, as the server says; everything, where it does not say. */
int disk_client_data_range(struct disk_client *client, uint64_t offset, uint64_t *ret_start,
                           uint64_t *ret_end, struct error **err);
/* What is under way, and what comes later, fails soon with CANCELLED. */
void disk_client_cancel(struct disk_client *client);

#endif
