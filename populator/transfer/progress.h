/* SPDX-License-Identifier: Apache-2.0 */
/* How far a transfer has come: written by its threads, read by whoever shows it. */
#ifndef POPULATOR_TRANSFER_PROGRESS_H
#define POPULATOR_TRANSFER_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
  atomic_uint_fast64_t total; /* bytes of the source to go through; 0: not known */
  atomic_uint_fast64_t
      position;                 /* of these, gone through, those of a resumed run before included */
  atomic_uint_fast64_t safe;    /* of an upload: bytes that need not be sent again */
  atomic_uint_fast64_t fetched; /* bytes read from the source by this process */
  atomic_uint_fast64_t written; /* bytes written to the target by this process */
  atomic_bool is_cancelled; /* set by whoever wants it to end: it stops soon, and can be resumed */
};

#endif
