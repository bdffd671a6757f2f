/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/data_inflate.h"

#include <isa-l/igzip_lib.h>

#include "lib/base/memory.h"

#define OUT_BYTES ((size_t)1 << 20)
#define IN_BYTES ((size_t)1 << 30) /* the library counts with 32 bits */

int
data_inflate(const struct data_file *file, uint64_t *ret_bytes, struct error **err)
{
  CLEANUP(freep) struct inflate_state *state = xcalloc(1, sizeof(*state));
  CLEANUP(freep) uint8_t *out = xcalloc(1, OUT_BYTES);
  isal_inflate_init(state);
  state->crc_flag = ISAL_GZIP;
  uint64_t taken = 0, made = 0;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    uint64_t left = file->size - taken;
    uint32_t given = (uint32_t)(left < IN_BYTES ? left : IN_BYTES);
    state->next_in = (uint8_t *)file->bytes + taken;
    state->avail_in = given;
    state->next_out = out;
    state->avail_out = OUT_BYTES;
    int r = isal_inflate(state);
    if (r != ISAL_DECOMP_OK || (state->avail_in == given && state->avail_out == OUT_BYTES))
      return error_set(err, ERROR_DATA_LOSS, "not one gzip member, or damaged (%d)", r);
    taken += given - state->avail_in;
    made += OUT_BYTES - state->avail_out;
  }
  *ret_bytes = made;
  return 0;
}
