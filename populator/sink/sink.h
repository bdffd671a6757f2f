/* SPDX-License-Identifier: Apache-2.0 */
/* Where an export goes. Bytes are appended in order. Some sinks can take the first bytes last,
 * which lets a compressed qcow2 be made in one pass. One file a kind, listed in sink_table.c. */
#ifndef POPULATOR_SINK_SINK_H
#define POPULATOR_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/http/http.h"

/* What the user says beside the URL. The strings outlive the sink. */
struct sink_options {
  struct http_options http;
  struct s3_options s3;
  bool registry_insecure;         /* for registries: plain http */
  const char *registry_auth_file; /* for registries: credentials as docker keeps them, or NULL */
  bool registry_gzip;             /* for registries: compress the layer */
  const char *disk_name;          /* for registries: of the file below /disk; NULL: "disk.img" */
  const char *platform;           /* for registries: that the disk is for; NULL: this machine's */
};

struct sink;

struct sink_ops {
  const char *scheme; /* "s3:"; NULL for a path and "-" */
  /* At most `estimate` bytes will come, or a little more. */
  int (*open)(const char *url, const struct sink_options *options, uint64_t estimate,
              struct sink **ret_sink, struct error **err);
  /* Exactly so many bytes will come. NULL where nobody needs to know; else called once, before
   * anything else. Then there is no reserve_start. */
  int (*set_size)(struct sink *sink, uint64_t size, struct error **err);
  /* The first `len` bytes, a multiple of start_align, are given at the end by write_start();
   * appending goes on behind them. NULL where that cannot be done. Called at most once, before
   * anything else. */
  int (*reserve_start)(struct sink *sink, uint64_t len, struct error **err);
  /* Appends. */
  int (*append)(struct sink *sink, const void *data, size_t len, struct error **err);
  /* Appends len zeros, perhaps as a hole. */
  int (*append_zeros)(struct sink *sink, uint64_t len, struct error **err);
  /* The reserved bytes, in order, in pieces. */
  int (*write_start)(struct sink *sink, const void *data, size_t len, struct error **err);
  /* Makes it appear, complete and durable, or fails. Frees the sink either way. */
  int (*commit)(struct sink *sink, struct error **err);
  /* Takes everything back. Frees the sink. */
  void (*abort)(struct sink *sink);
};

/* First member of every sink. */
struct sink {
  const struct sink_ops *ops;
  char *label; /* the URL without credentials */
  uint64_t start_align;
};

int sink_open(const char *url, const struct sink_options *options, uint64_t estimate,
              struct sink **ret_sink, struct error **err);

#endif
