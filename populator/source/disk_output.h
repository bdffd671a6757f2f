/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to an export of an NBD server: one connection, many requests in flight, bounded memory.
 *
 * A connection that breaks is not made anew here: a server that was restarted may have lost what it
 * had taken and not flushed, so all has to be written again, by whoever can (ABORTED). One thread
 * at a time, but for cancelling. */
#ifndef POPULATOR_SOURCE_DISK_OUTPUT_H
#define POPULATOR_SOURCE_DISK_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "populator/source/disk_uri.h"

/* Data is given in whole pieces of this size, but for the end of the disk. */
#define DISK_OUTPUT_ALIGN ((size_t)64 << 10)

/* NULL and 0 mean the default, as in disk_client.h. The strings and the URI outlive the output. */
struct disk_output_options {
  const struct disk_uri *uri;
  const char *ca_bundle;
  bool allow_local_addresses;
  unsigned retries; /* to connect */
  unsigned retry_first_ms;
  unsigned stall_s;
};

struct disk_output;

/* Connects. FAILED_PRECONDITION when the export cannot be written to. */
int disk_output_open(const struct disk_output_options *options, struct disk_output **ret_output,
                     struct error **err);
/* Drops what was not flushed. */
void disk_output_close(struct disk_output *output);
DEFINE_CLEANUP(struct disk_output *, disk_output_close)

/* After ABORTED: connects again. Nothing that was written before counts. */
int disk_output_reconnect(struct disk_output *output, struct error **err);

uint64_t disk_output_size(const struct disk_output *output);

/* Begins to write; the data is copied. Offsets are multiples of DISK_OUTPUT_ALIGN, or follow what
 * was written last. An error may be that of an earlier write. */
int disk_output_write(struct disk_output *output, const void *data, size_t len, uint64_t offset,
                      struct error **err);
/* The same for zeros: as a hole, where the server can. */
int disk_output_zero(struct disk_output *output, uint64_t len, uint64_t offset, struct error **err);
/* All that was written has arrived, and is on the server's disk. */
int disk_output_flush(struct disk_output *output, struct error **err);
/* What is under way, and what comes later, fails soon with CANCELLED. Any thread. */
void disk_output_cancel(struct disk_output *output);

#endif
