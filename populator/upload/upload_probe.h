/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is that is being sent, by its beginning: whether it can be imported as it comes, and
 * how large the disk in it is. A sandboxed worker looks (`imprint inspect`); nothing of the file is
 * read in here. */
#ifndef POPULATOR_UPLOAD_UPLOAD_PROBE_H
#define POPULATOR_UPLOAD_UPLOAD_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So much of it is looked at, or all if it is smaller. It fits into a pipe. */
#define UPLOAD_PROBE_BYTES ((size_t)256 << 10)

struct upload_probe {
  bool is_direct;      /* it is a kind of file that can be imported as it comes */
  uint64_t disk_bytes; /* of the disk in it; 0: only its end tells */
};

/* `total` is the size of the file. Whatever is not understood here is not direct: those who get the
 * whole file say what is wrong with it. */
void upload_probe(const char *program, const void *beginning, size_t len, uint64_t total,
                  struct upload_probe *ret_probe);

#endif
