/* SPDX-License-Identifier: Apache-2.0 */
/* An image's header object, read and written without opening the image.
 *
 * Opening an image registers a watch, reads a dozen things and closes again: some 20 ms on a busy
 * OSD, more than creating it. What a CSI call wants to know — size, snapshots, parent, our own
 * metadata — is one read operation on the header object, answered by the same rbd object class that
 * librbd itself calls; a metadata record is one write operation. librbd's images of every release
 * since Nautilus answer these methods, and old clients keep them in place: they are the wire
 * protocol.
 *
 * What librbd clients must be told of at once (limits, sizes, snapshots) goes through image.h. */
#ifndef LIB_CEPH_HEADER_H
#define LIB_CEPH_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/string_map.h"
#include "lib/ceph/location.h"

struct image_parent {
  int64_t pool_id; /* -1: the image has no parent */
  char *name_space;
  char *image_id;
  uint64_t snap_id;
};

struct header {
  uint64_t size_bytes;
  uint8_t order; /* an object holds 1 << order bytes */
  uint64_t features;
  uint64_t *snap_ids; /* newest first; those in the trash namespace too */
  size_t snap_count;
  struct image_parent parent;
  struct string_map metadata;
};

/* NOT_FOUND when there is no header: the image is gone, or was never finished. */
int header_read(struct location *location, const char *image_id, struct header *ret_header,
                struct error **err);
/* Reads many at once. ret_found[i] says whether image_ids[i] had a header; the others stay empty.
 */
int header_read_many(struct location *location, char *const *image_ids, size_t count,
                     struct header *ret_headers, bool *ret_found, struct error **err);
void header_clear(struct header *header);

/* As the object class's method metadata_set takes it. */
struct wire_writer;
void header_encode_metadata(const struct string_map *metadata, struct wire_writer *w);

/* Sets all of `set` and removes the keys of `remove`, which need not be there, in one atomic step.
 * NOT_FOUND when the image is gone: the header is never made anew. Either may be NULL. */
int header_update_metadata(struct location *location, const char *image_id,
                           const struct string_map *set, const struct string_map *remove,
                           struct error **err);

/* The same, provided that `key` has this value, or is not there (NULL): else ABORTED, and nothing
 * was changed. */
int header_update_metadata_if(struct location *location, const char *image_id, const char *key,
                              const char *value, const struct string_map *set,
                              const struct string_map *remove, struct error **err);

enum snap_kind { SNAP_KIND_USER, SNAP_KIND_GROUP, SNAP_KIND_TRASH, SNAP_KIND_OTHER };

struct snap {
  uint64_t id;
  enum snap_kind kind;
  char *name;
  uint64_t size_bytes;
  int64_t created_s; /* seconds since 1970 */
  uint32_t created_ns;
  uint32_t children;
};

struct snaps {
  struct snap *items;
  size_t count;
};

/* The snapshots with these ids, in the same order; those that are gone meanwhile are left out. */
int header_read_snaps(struct location *location, const char *image_id, const uint64_t *snap_ids,
                      size_t count, struct snaps *ret_snaps, struct error **err);
void snaps_clear(struct snaps *snaps);
/* NULL when none has this id, or this name among the user's. */
const struct snap *snaps_find(const struct snaps *snaps, uint64_t id);
const struct snap *snaps_find_name(const struct snaps *snaps, const char *name);

#endif
