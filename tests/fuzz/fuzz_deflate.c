/* SPDX-License-Identifier: Apache-2.0 */
/* Deflate streams, inflated in lanes and by libdeflate: whatever the lanes call done is right. The
 * first two bytes say how much is to come out. The rest is all of the streams at once: one lane
 * gets it whole, others without its last bytes, so that their places and tables differ. The input
 * ends where nothing may be read, and so does the output. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/deflate_lanes.h"
#include "tests/format/pack.h"
#include "tests/fuzz/fuzz.h"

#define STREAMS 20
#define IN_MAX ((size_t)64 << 10)
#define OUT_MAX ((size_t)64 << 10)

/* The end of so much memory, behind which there is none. */
static uint8_t *
fenced(size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *mapped =
      mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(mapped != MAP_FAILED);
  CHECK(mprotect(mapped + bytes, page, PROT_NONE) == 0);
  return mapped + bytes;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct deflate_lanes *lanes;
  static uint8_t *in_end, *out_end, *single;
  if (!single) {
    lanes = deflate_lanes_new();
    in_end = fenced(IN_MAX);
    out_end = fenced(STREAMS * OUT_MAX);
    single = xcalloc(1, OUT_MAX);
  }
  if (!lanes || size < 2 || size - 2 > IN_MAX)
    return 0;
  struct deflate_stream streams[STREAMS];
  size_t out_len = bytes_le16(data), in_len = size - 2;
  memcpy(in_end - in_len, data + 2, in_len);
  for (size_t i = 0; i < STREAMS; i++)
    streams[i] = (struct deflate_stream){.in = in_end - in_len,
                                         .in_len = in_len > i / 4 ? in_len - i / 4 : 0,
                                         .out = out_end - (i + 1) * out_len,
                                         .out_len = out_len};
  deflate_lanes_inflate(lanes, streams, STREAMS);
  for (size_t i = 0; i < STREAMS; i++) {
    if (streams[i].is_done) {
      CHECK(pack_inflate(streams[i].in, streams[i].in_len, single, out_len));
      CHECK(memcmp(single, streams[i].out, out_len) == 0);
    }
  }
  return 0;
}
