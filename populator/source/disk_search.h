/* SPDX-License-Identifier: Apache-2.0 */
/* Which file of a container image is the disk.
 *
 * It is the one regular file at a path or below it; "/disk" where the user names none. Layers are
 * looked at from the top down, each in one pass: the topmost one that has such a file decides, and
 * what an upper layer removed (whiteouts) does not count in those below it. A file beside the disk
 * in one of these is found by a search of its own, disk_search_below(), as far as they are read.
 *
 * Links are followed inside the image: a hard link within its layer, a symbolic link from the top
 * layer on. Pure: it is told of entries and says what to do. */
#ifndef POPULATOR_SOURCE_DISK_SEARCH_H
#define POPULATOR_SOURCE_DISK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "populator/source/tar.h"

/* What is read next when a layer had no disk. */
enum disk_search_step {
  DISK_SEARCH_NEXT_LAYER,
  DISK_SEARCH_SAME_LAYER, /* again: it is under another name there */
  DISK_SEARCH_TOP_LAYER,  /* from the top again: it is under another name */
};

struct disk_search;

/* NULL: the usual place. "/" or "": anywhere. */
struct disk_search *disk_search_new(const char *path);
void disk_search_free(struct disk_search *search);
DEFINE_CLEANUP(struct disk_search *, disk_search_free)

/* An entry of the layer that is being read. *ret_is_disk: read its content, it is the disk, unless
 * disk_search_check() finds another one behind it. */
int disk_search_entry(struct disk_search *search, const struct tar_entry *entry, bool *ret_is_disk,
                      struct error **err);
/* The layer has ended and had the disk: INVALID_ARGUMENT, with their names, when it had several. */
int disk_search_check(const struct disk_search *search, struct error **err);
/* The layer has ended without the disk. is_last: there is none below it. NOT_FOUND when there is
 * nothing left to look at. */
int disk_search_layer_end(struct disk_search *search, bool is_last, enum disk_search_step *ret_step,
                          struct error **err);

/* Whether the disk is the very path that was looked for, so that nothing can stand beside it. */
bool disk_search_is_exact(const struct disk_search *search);
/* A search for files that stand beside the disk, in the layers below its own. has_layer: what the
 * disk's layer removes, as far as it was read, counts; else the search is for that layer. */
struct disk_search *disk_search_below(const struct disk_search *search, bool has_layer);
/* A layer below was read: whether it has a file beside the disk. */
bool disk_search_has_other(const struct disk_search *below);
/* The next layer below is read; false when nothing of it can be seen. */
bool disk_search_go_below(struct disk_search *below);
/* INVALID_ARGUMENT, with the names of both. Returns -1. */
int disk_search_refuse(const struct disk_search *search, const struct disk_search *below,
                       struct error **err);

/* What is looked for now: what the user named, or where a link has led; the search owns it. */
const char *disk_search_place(const struct disk_search *search);
/* The path of the disk in the image, once it was found; the search owns it. */
const char *disk_search_path(const struct disk_search *search);
/* The layer that has the disk will be read from its beginning once more. */
void disk_search_read_again(struct disk_search *search);
/* For a search that only has to check what stands behind the disk, of which another process has
 * read a part: `path` is what disk_search_path() said there. */
void disk_search_found(struct disk_search *search, const char *path);

#endif
