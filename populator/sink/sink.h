/* SPDX-License-Identifier: Apache-2.0 */
/* Where an export goes. Bytes are appended in order. Some sinks can take the first bytes last,
 * which lets a compressed qcow2 be made in one pass. One file a kind, listed in sink_table.c. */
#ifndef POPULATOR_SINK_SINK_H
#define POPULATOR_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/http/http.h"

/* Remembers what a sink has begun beyond the death of the process, so that the next one to the same
 * place can take it back. */
struct sink_ledger {
  /* What was written and not forgotten; NULL: nothing. To be freed. */
  char *(*read)(struct sink_ledger *ledger);
  /* In place of what was written before. It may fail silently: an export is not worth failing for
   * it. */
  void (*write)(struct sink_ledger *ledger, const char *text);
  void (*forget)(struct sink_ledger *ledger);
};

/* What the user says beside the URL. The strings outlive the sink. */
struct sink_options {
  struct sink_ledger *ledger; /* or NULL */
  struct http_options http;
  struct s3_options s3;
  bool registry_insecure;         /* for registries: plain http */
  const char *registry_auth_file; /* for registries: credentials as docker keeps them, or NULL */
  /* For container disks. */
  bool layer_gzip;       /* compress the layer */
  const char *disk_name; /* of the file below /disk; NULL: "disk.img" */
  const char *platform;  /* that the disk is for; NULL: this machine's */
  char **ret_digest;     /* of the image that was made, to be freed; or NULL */
};

struct sink;

/* What an export becomes there. */
enum sink_kind {
  SINK_FILE,           /* a file, of any format */
  SINK_CONTAINER_DISK, /* a file in the layer of a container image */
  SINK_DISK,           /* a disk: raw, and nothing else */
};

struct sink_ops {
  const char *scheme; /* "s3:" */
  enum sink_kind kind;
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
  /* Behind a failure with ABORTED: all that was given is lost, and the whole file is given once
   * more, from its beginning, of the size that was said, and is not measured again. NULL where
   * nothing fails so. */
  int (*begin_anew)(struct sink *sink, struct error **err);
  /* Appends. */
  int (*append)(struct sink *sink, const void *data, size_t len, struct error **err);
  /* Appends len zeros, perhaps as a hole. */
  int (*append_zeros)(struct sink *sink, uint64_t len, struct error **err);
  /* The whole file has been given, for the sink to learn what it is. *ret_is_there: it has it
   * already; else all of it has to be given again. Called once, before commit(). NULL where a file
   * is given once. */
  int (*measured)(struct sink *sink, bool *ret_is_there, struct error **err);
  /* The reserved bytes, in order, in pieces. */
  int (*write_start)(struct sink *sink, const void *data, size_t len, struct error **err);
  /* Makes what is under way, and what comes later, fail with CANCELLED soon; abort() still works.
   * Any thread. NULL where nothing takes long. */
  void (*cancel)(struct sink *sink);
  /* Takes back what a sink of an earlier process has written into its ledger that it began: by the
   * record alone. An error names what is left. NULL where nothing outlives a sink. */
  int (*discard)(const char *url, const struct sink_options *options, const char *record,
                 struct error **err);
  /* Makes it appear, complete and durable, or fails: then abort() is due. */
  int (*commit)(struct sink *sink, struct error **err);
  /* Takes everything back. */
  void (*abort)(struct sink *sink);
  /* Frees the sink; the last call. */
  void (*close)(struct sink *sink);
};

/* First member of every sink. */
struct sink {
  const struct sink_ops *ops;
  char *label; /* the URL without credentials */
  uint64_t start_align;
};

/* SINK_FILE also where no sink is meant: opening says so. */
enum sink_kind sink_kind_of(const char *url);
int sink_open(const char *url, const struct sink_options *options, uint64_t estimate,
              struct sink **ret_sink, struct error **err);
/* As the operation of that name. */
int sink_discard(const char *url, const struct sink_options *options, const char *record,
                 struct error **err);

#endif
