/* SPDX-License-Identifier: Apache-2.0 */
/* A saved state that comes back changed: it is refused, or leads to an error or a wrong disk, but
 * never to a wrong address. An input is a file and what becomes of its reader's state:
 *
 *   1 byte   odd: qcow2; 2: zstd; 4: xz; any other: gzip
 *   1 byte   how many changes, up to 15
 *   2 bytes  how many bytes, or extents, are read before the state is saved
 *   3 bytes  for each change: where, the highest bit to cut it off there; the new byte
 *   the rest the file */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/gzip.h"
#include "populator/format/qcow2_spool.h"
#include "populator/format/state.h"
#include "populator/format/xz.h"
#include "populator/format/zstd.h"
#include "tests/format/memory_stream.h"
#include "tests/fuzz/fuzz.h"

#define HEAD 4
#define CHANGE 3
#define STEPS_MAX 2000
#define OUT_MAX ((size_t)1 << 20)
#define BODY_MAX ((size_t)256 << 20)

struct input {
  const uint8_t *changes;
  size_t change_count;
  size_t read;
  const uint8_t *file;
  size_t file_size;
};

/* Opens a state, changes it, and seals it again, so that the changes get past the checksum. */
static void
change_state(const struct input *input, struct buffer *state)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  uint32_t form = bytes_le32(state->data);
  size_t used;
  CHECK(state_unseal(form, state->data, state->len, BODY_MAX, &body, &used, NULL) == 0);
  CHECK(used == state->len);
  for (size_t i = 0; i < input->change_count && body.len > 0; i++) {
    const uint8_t *change = input->changes + i * CHANGE;
    uint16_t where = bytes_le16(change);
    size_t at = (size_t)(where & 0x7fff) % body.len;
    if (where & 0x8000)
      body.len = at;
    else
      body.data[at] = (char)change[2];
  }
  state->len = 0;
  CHECK(state_seal(form, &body, state, NULL) == 0);
}

/* ---- compressions ------------------------------------------------------------------------------
 */

static const struct unpacker {
  int (*open)(struct stream *below, struct stream **ret_stream, struct error **err);
  int (*restore)(struct stream *below, const void *state, size_t len, size_t *ret_used,
                 struct stream **ret_stream, struct error **err);
} gzip = {gzip_stream_new, gzip_stream_restore}, zstd = {zstd_stream_new, zstd_stream_restore},
  xz = {xz_stream_new, xz_stream_restore};

static void
read_some(struct stream *stream, size_t most)
{
  static char buf[4096];
  for (size_t got = 0; got < most;) {
    ssize_t n = stream_read(stream, buf, most - got < sizeof(buf) ? most - got : sizeof(buf), NULL);
    if (n <= 0)
      return;
    got += (size_t)n;
  }
}

static void
try_unpacker(const struct unpacker *unpacker, const struct input *input)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(buffer_clear) struct buffer state = {0};
  struct stream *file = memory_stream_new(input->file, input->file_size, 0, 0);
  CHECK(unpacker->open(file, &stream, NULL) == 0);
  read_some(stream, input->read);
  if (stream->ops->save(stream, &state, NULL) < 0)
    return;
  size_t position = memory_stream_position(file), used;
  stream_close(TAKE(stream));
  change_state(input, &state);
  file = memory_stream_new(input->file, input->file_size, position, 0);
  if (unpacker->restore(file, state.data, state.len, &used, &stream, NULL) < 0)
    return;
  CHECK(used == state.len);
  read_some(stream, OUT_MAX);
  state.len = 0;
  (void)stream->ops->save(stream, &state, NULL);
}

/* ---- qcow2 -------------------------------------------------------------------------------------
 */

static int
take_extents(struct qcow2_stream *stream, size_t most)
{
  static char buf[QCOW2_STREAM_BUFFER_MIN];
  struct qcow2_extent extent;
  int r = QCOW2_STREAM_EXTENT;
  for (size_t i = 0; i < most && r == QCOW2_STREAM_EXTENT; i++) {
    r = qcow2_stream_next(stream, buf, sizeof(buf), &extent, NULL);
    if (r == QCOW2_STREAM_EXTENT)
      CHECK(extent.host_length <= sizeof(buf));
  }
  return r;
}

/* Looks at every byte, so that AddressSanitizer does too. */
static int
write_nowhere(void *context, const void *data, size_t len, uint64_t offset, struct error **err)
{
  uint64_t *sum = context;
  (void)err;
  *sum += offset;
  for (size_t i = 0; i < len; i++)
    *sum += ((const unsigned char *)data)[i];
  return 0;
}

static void
try_qcow2(const struct input *input)
{
  CLEANUP(qcow2_stream_closep) struct qcow2_stream *stream = NULL;
  CLEANUP(buffer_clear) struct buffer state = {0};
  uint64_t sum = 0;
  struct qcow2_spool spool = {.write_at = write_nowhere, .context = &sum};
  size_t window = input->read % 3 ? (size_t)1 << 20 : 600;
  struct stream *file = memory_stream_new(input->file, input->file_size, 0, 0);
  if (qcow2_stream_open(file, window, &stream, NULL) < 0 ||
      take_extents(stream, input->read % 512) < 0)
    return;
  CHECK(qcow2_stream_save(stream, &state, NULL) == 0);
  size_t position = memory_stream_position(file), used;
  uint64_t offset;
  qcow2_stream_close(TAKE(stream));
  change_state(input, &state);
  for (unsigned round = 0; round < 2; round++) {
    file = memory_stream_new(input->file, input->file_size, position, 0);
    if (qcow2_stream_restore(file, window, state.data, state.len, &used, &stream, NULL) < 0) {
      CHECK(round == 0);
      return;
    }
    CHECK(used == state.len);
    if (round == 1)
      break;
    /* what is taken is saved as it is */
    state.len = 0;
    CHECK(qcow2_stream_save(stream, &state, NULL) == 0);
    (void)qcow2_spool_write(stream, &spool, &offset, NULL);
    qcow2_stream_close(TAKE(stream));
  }
  if (take_extents(stream, STEPS_MAX) == QCOW2_STREAM_FULL)
    (void)qcow2_spool_write(stream, &spool, &offset, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size < HEAD)
    return 0;
  struct input input = {.changes = data + HEAD, .change_count = data[1] % 16};
  input.read = bytes_le16(data + 2);
  if (size - HEAD < input.change_count * CHANGE)
    return 0;
  input.file = input.changes + input.change_count * CHANGE;
  input.file_size = size - HEAD - input.change_count * CHANGE;
  if (data[0] % 2 == 0)
    try_unpacker(data[0] == 2 ? &zstd : data[0] == 4 ? &xz : &gzip, &input);
  else
    try_qcow2(&input);
  return 0;
}
