/* SPDX-License-Identifier: Apache-2.0 */
/* Where an image's bytes come from. One file a kind, listed in source_table.c: a new source is a
 * file and a line. */
#ifndef POPULATOR_SOURCE_SOURCE_H
#define POPULATOR_SOURCE_SOURCE_H

#include <stdatomic.h>

#include "lib/base/string_map.h"
#include "lib/ceph/cluster_config.h"
#include "lib/http/http.h"
#include "populator/source/stream.h"

#define SOURCE_SIZE_UNKNOWN UINT64_MAX

/* What the user says beside the URL. The strings outlive the source. */
struct source_options {
  struct http_options http;  /* credentials, CA, proxy, which addresses are allowed */
  struct s3_options s3;      /* for s3:// */
  const char *platform;      /* for registries: "amd64", "arm64/v8"; NULL: this machine's */
  const char *path_in_image; /* for registries and oci-archive: NULL: the one file below /disk */
  bool registry_insecure;    /* for registries: plain http */
  const char *registry_auth_file; /* for registries: credentials as docker keeps them, or NULL */
  struct cluster_config ceph;     /* for rbd: */
  const char *identity;           /* that it must have, as told at an earlier time; NULL: any */
  bool is_glance; /* only its beginning will be looked at: no more than that is asked for */
  /* For upload: called once it is known from which byte on it is to be sent. NULL: nobody asks. */
  void (*on_ready)(uint64_t offset);
};

/* Of a disk in a container image. */
struct source_container {
  char *digest;   /* of the manifest */
  char *platform; /* "linux/amd64" */
  char *path;     /* of the disk in the image */
  char *layer;    /* that it is in: its digest … */
  uint64_t layer_size;
  const char *layer_compression; /* "none", "gzip", "zstd", "xz" */
};

struct source;
struct checksum;

struct source_ops {
  /* What the URL begins with: "https:". */
  const char *scheme;
  /* Connects and fills the members of struct source. On failure nothing stays open. */
  int (*open)(const char *url, const struct source_options *options, struct source **ret_source,
              struct error **err);
  /* Exactly len bytes from offset on, which lie inside the size. Any number of threads at once.
   * Only called when can_seek. */
  int (*read_at)(struct source *source, void *buf, size_t len, uint64_t offset, struct error **err);
  /* A stream of the bytes from offset on; offset > 0 only when can_resume. One at a time. The
   * source must outlive it. */
  int (*stream)(struct source *source, uint64_t offset, struct stream **ret_stream,
                struct error **err);
  /* The next bytes at or behind offset that may hold data: *ret_start to *ret_end. What lies before
   * them reads as zeros. Both are the size when there are none. Any number of threads at once. NULL
   * where that cannot be told: then all may hold data. Only called when can_seek. */
  int (*data_range)(struct source *source, uint64_t offset, uint64_t *ret_start, uint64_t *ret_end,
                    struct error **err);
  /* Makes what is under way, and what comes later, fail with CANCELLED soon. Any thread. NULL where
   * nothing takes long. */
  void (*cancel)(struct source *source);
  /* A stream that goes on behind the last byte which another one of the same identity had given
   * when stream_save() wrote what `state` begins with: *ret_used bytes of it. NULL where that
   * cannot be done. */
  int (*restore)(struct source *source, const void *state, size_t len, size_t *ret_used,
                 struct stream **ret_stream, struct error **err);
  /* Where the digest that the source promises is of more than the bytes it gives (a layer, in which
   * the disk is one file), whoever uses read_at proves it so: digest_begin() gives the checksum of
   * what stands in front, to which all bytes are added in order; digest_end() adds what stands
   * behind and compares: DATA_LOSS. Streams prove it by themselves. NULL elsewhere. */
  int (*digest_begin)(struct source *source, struct checksum *ret_checksum, struct error **err);
  int (*digest_end)(struct source *source, const struct checksum *checksum, struct error **err);
  /* When all was read: whether what was named was there until then. NULL where reading would have
   * failed. */
  int (*check)(struct source *source, struct error **err);
  void (*close)(struct source *source);
};

/* First member of every source. */
struct source {
  const struct source_ops *ops;
  char *label;   /* the URL without credentials: for messages */
  uint64_t size; /* of what the source gives, in bytes, or SOURCE_SIZE_UNKNOWN */
  /* Of the bytes behind this URL: other bytes, other identity: "etag:…", "sha256:…"; NULL when it
   * cannot be told. */
  char *identity;
  char *digest; /* "sha256:…" of the whole content where the source itself promises it, else NULL */
  struct string_map env;              /* of a container image: what its configuration sets */
  struct source_container *container; /* NULL: it is in none */
  bool can_seek;                      /* read_at works */
  bool can_resume;                    /* stream works from any offset */
  /* Known once there is a stream: its end cannot be told from one that was cut off (a web server
   * that neither says how long the file is nor marks its end). */
  bool is_end_unproven;
  /* read_at has failed because it works no more. Opened anew, the source may be another: one that
   * cannot seek. */
  atomic_bool has_lost_seek;
};

/* By the scheme of the URL; what has none is a path, or "-" for standard input. */
int source_open(const char *url, const struct source_options *options, struct source **ret_source,
                struct error **err);
void source_close(struct source *source);
DEFINE_CLEANUP(struct source *, source_close)

/* Frees the members above, for a source's own close. */
void source_clear(struct source *source);

#endif
