/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a container disk of a disk and pushes it to a registry: an image with one layer, in which
 * the disk is /disk/NAME. The layer is sent as it is made; nothing is staged. The image appears
 * under its tag when it is complete. One thread at a time. */
#ifndef POPULATOR_SINK_CONTAINER_DISK_PUSH_H
#define POPULATOR_SINK_CONTAINER_DISK_PUSH_H

#include "populator/registry/registry_auth.h"
#include "populator/source/stream.h"

/* The strings outlive the push. */
struct push_options {
  struct registry_options registry;
  const char *name;     /* of the file; NULL: "disk.img" */
  const char *platform; /* that the disk is for: "arm64"; NULL: this machine's */
  bool is_compressed;   /* the layer is gzip'ed: for a disk that is not compressed itself */
};

struct container_disk_push;

/* Talks to the registry: a wrong name, address or password shows here. url: docker://…; its tag is
 * "latest" where it has none, and it must not have a digest. */
int container_disk_push_open(const char *url, const struct push_options *options,
                             struct container_disk_push **ret_push, struct error **err);
/* Before the first write: the size must be known first, it stands in front of the disk. */
int container_disk_push_begin(struct container_disk_push *push, uint64_t size, struct error **err);
/* The same, but what is written is only measured, up to container_disk_push_measured(): when the
 * repository has such a layer already, or can take it from registry.mount_from, *ret_is_there is
 * true and nothing is left to do but to commit; else all has to be written again, for which it has
 * begun. */
int container_disk_push_measure(struct container_disk_push *push, uint64_t size,
                                struct error **err);
int container_disk_push_measured(struct container_disk_push *push, bool *ret_is_there,
                                 struct error **err);
/* ABORTED when the registry has given the upload up: it has to be made from its beginning. */
int container_disk_push_write(struct container_disk_push *push, const void *data, size_t len,
                              struct error **err);
/* After ABORTED: all of the disk has to be written again, for which it has begun. */
int container_disk_push_begin_anew(struct container_disk_push *push, struct error **err);
/* Everything was written. *ret_digest is the manifest's, to be freed. */
int container_disk_push_commit(struct container_disk_push *push, char **ret_digest,
                               struct error **err);
/* What is under way, or begun later, fails with CANCELLED soon. Any thread. */
void container_disk_push_cancel(struct container_disk_push *push);
/* Frees it, and takes back what was not committed, also when it was cancelled. NULL is fine. */
void container_disk_push_close(struct container_disk_push *push);
DEFINE_CLEANUP(struct container_disk_push *, container_disk_push_close)

/* A disk that can be read more than once. */
struct push_content {
  uint64_t size;
  int (*open)(void *context, struct stream **ret_stream, struct error **err);
  void *context;
};

/* The whole of it, from the beginning again where the registry gives an upload up, a few times.
 * With is_probed, it is measured first. */
int container_disk_push(const char *url, const struct push_options *options,
                        const struct push_content *content, bool is_probed, char **ret_digest,
                        struct error **err);

#endif
