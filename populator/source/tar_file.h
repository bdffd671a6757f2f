/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive that lies on disk: its headers are read once, then any file of it can be read
 * anywhere. Any number of threads. */
#ifndef POPULATOR_SOURCE_TAR_FILE_H
#define POPULATOR_SOURCE_TAR_FILE_H

#include "lib/base/buffer.h"
#include "populator/source/stream.h"
#include "populator/source/tar.h"

struct tar_file_entry {
  char *path; /* clean, see image_path.h */
  char *link; /* of a link: the clean path it leads to; else NULL */
  uint64_t offset;
  uint64_t size;
};

struct tar_file;

int tar_file_open(const char *path, struct tar_file **ret_file, struct error **err);
void tar_file_close(struct tar_file *file);
DEFINE_CLEANUP(struct tar_file *, tar_file_close)

/* A regular file, or the one that a link leads to; NULL when there is none. */
const struct tar_file_entry *tar_file_find(const struct tar_file *file, const char *path);
/* All of a small one; RESOURCE_EXHAUSTED when it is larger than max. */
int tar_file_read(const struct tar_file *file, const struct tar_file_entry *entry, size_t max,
                  struct buffer *ret_content, struct error **err);
/* Exactly len bytes from offset on, which lie inside it. */
int tar_file_read_at(const struct tar_file *file, const struct tar_file_entry *entry, void *buf,
                     size_t len, uint64_t offset, struct error **err);
/* From offset on, under this name; its saved state is its position. The file must outlive it. */
struct stream *tar_file_stream(const struct tar_file *file, const struct tar_file_entry *entry,
                               const char *name_of_stream, uint64_t offset);

#endif
