/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a tar archive front to back: entry by entry, and the content of those that are wanted.
 * One thread at a time. */
#ifndef POPULATOR_SOURCE_TAR_H
#define POPULATOR_SOURCE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"
#include "lib/ceph/wire.h"
#include "populator/source/stream.h"

enum tar_type {
  TAR_FILE,
  TAR_SPARSE, /* a file stored as a map and pieces: it reads as any other */
  TAR_HARDLINK,
  TAR_SYMLINK,
  TAR_DIRECTORY,
  TAR_OTHER, /* devices, pipes, what nobody knows */
};

struct tar_entry {
  enum tar_type type;
  char *path; /* as image_path.h cleans it */
  char *link; /* of links: where they lead; a hard link's is clean, a symbolic one's as written */
  uint64_t size; /* of the content */
};

struct tar;

/* Owns the stream below. */
struct tar *tar_new(struct stream *below);
void tar_free(struct tar *tar);
DEFINE_CLEANUP(struct tar *, tar_free)

/* The next entry, which stays the reader's until it is asked for another; NULL at the end of the
 * archive. What was not read of the one before is passed over. Nothing behind the end is read. */
int tar_next(struct tar *tar, const struct tar_entry **ret_entry, struct error **err);
/* Up to len bytes of the entry's content, may be short, 0 at its end. */
ssize_t tar_read(struct tar *tar, void *buf, size_t len, struct error **err);
/* Bytes of the content that were not read yet. */
uint64_t tar_left(const struct tar *tar);
/* Bytes of the archive in front of the next byte of content that it has. */
uint64_t tar_position(const struct tar *tar);
/* Zeros behind content of this size. */
uint32_t tar_padding(uint64_t size);
struct stream *tar_below(struct tar *tar);

/* What another process needs to go on behind the last byte of content that was read. */
void tar_save(const struct tar *tar, struct buffer *state);
/* On a stream below that stands where the other one stood. Marks the reader failed and gives NULL
 * when the state is not one; then `below` stays the caller's. */
struct tar *tar_restore(struct stream *below, struct wire_reader *state);

#endif
