/* SPDX-License-Identifier: Apache-2.0 */
/* The process that puts what a client sends into Ceph, at the other end of a pipe: `imprint import`
 * for what is imported as it comes, `imprint receive` for what is kept as it is. It says how much
 * of it is safe. One thread. */
#ifndef POPULATOR_UPLOAD_UPLOAD_WORKER_H
#define POPULATOR_UPLOAD_UPLOAD_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

struct upload_worker;

struct upload_worker_options {
  const char *program;  /* the imprint command */
  const char *clusters; /* file of clusters */
  const char *handle;   /* of the volume that it goes to */
  uint64_t first;       /* byte of the file that is sent first … */
  uint64_t total;       /* … of so many */
  /* Of one that is imported as it comes; else NULL. */
  const char *id;       /* tells this file from others */
  const char *token;    /* of the import, for whoever asks later what became of it */
  const char *checksum; /* that it must have, or NULL */
};

int upload_worker_start(const struct upload_worker_options *options,
                        struct upload_worker **ret_worker, struct error **err);
/* One that runs is stopped. */
void upload_worker_free(struct upload_worker *worker);
DEFINE_CLEANUP(struct upload_worker *, upload_worker_free)

/* Waits until the volume is its own, which shows before the client sends a byte: UNAVAILABLE when
 * that takes longer. *ret_is_ready is false when it is not so far after so many milliseconds. */
int upload_worker_await(struct upload_worker *worker, int timeout_ms, bool *ret_is_ready,
                        struct error **err);
/* Hands over as much as it takes within so many milliseconds, which may be nothing. */
int upload_worker_offer(struct upload_worker *worker, const void *data, size_t len, int timeout_ms,
                        size_t *ret_taken, struct error **err);
/* There is no more. Waits so long for it to come to its end: *ret_is_over; -1 when that is a bad
 * one. */
int upload_worker_finish(struct upload_worker *worker, int timeout_ms, bool *ret_is_over,
                         struct error **err);
/* Hears what it has said by now. */
int upload_worker_hear(struct upload_worker *worker, struct error **err);
/* Once it is ready: the byte of the file that it wants next, which need not be the one that was
 * told.
 */
uint64_t upload_worker_wanted(const struct upload_worker *worker);
/* Once all of it was imported: "sha256:…" of the file; else NULL. */
const char *upload_worker_digest(const struct upload_worker *worker);
/* Bytes from the beginning of the file on that are safe, as far as was heard. */
uint64_t upload_worker_safe(const struct upload_worker *worker);

#endif
