/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of a file that leave the page cache as it is: what is in it is taken from there, what is
 * not comes from the disk straight into the reader's buffer. An image is read once, so caching it
 * would only push out what others need, and costs more than the reading itself: on a machine whose
 * disk gives 2 GB/s, reads through the cache gave a quarter of that. */
#ifndef POPULATOR_SOURCE_UNCACHED_READ_H
#define POPULATOR_SOURCE_UNCACHED_READ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct uncached_read {
  int fd;                /* the caller's */
  int direct_fd;         /* its own, or -1 */
  atomic_bool is_direct; /* until it turns out that the disk does not take such reads */
};

/* path leads to the file that fd is; NULL: all reads are plain, as they are at worst where there is
 * one. */
void uncached_read_init(struct uncached_read *reading, int fd, const char *path);
void uncached_read_clear(struct uncached_read *reading);

/* As pread(): may be short, 0 at the end, -1 with errno. Any number of threads at once. */
ssize_t uncached_read_at(struct uncached_read *reading, void *buf, size_t len, uint64_t offset);

#endif
