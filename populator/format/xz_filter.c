/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/xz_filter.h"

#include <string.h>

#include "populator/format/bytes.h"

/* ---- instructions of one length ----------------------------------------------------------------
 *
 * Each changes the instruction at `code` if it is a call. `position` is where it lies.
 */

/* BL, always: 24 bits, which count words, from two instructions behind. */
static void
undo_arm(uint8_t *code, uint32_t position)
{
  uint32_t word = bytes_le32(code);
  if (word >> 24 == 0xeb)
    bytes_put_le32(code, (word & 0xff000000) | ((word - ((position + 8) >> 2)) & 0xffffff));
}

/* A pair of halves: eleven bits in each, which count halves, from two of them behind. */
static void
undo_arm_thumb(uint8_t *code, uint32_t position)
{
  uint32_t high = bytes_le16(code), low = bytes_le16(code + 2);
  if ((high & 0xf800) != 0xf000 || (low & 0xf800) != 0xf800)
    return;
  uint32_t target = ((high & 0x7ff) << 11 | (low & 0x7ff)) - ((position + 4) >> 1);
  bytes_put_le32(code, 0xf000 | (target >> 11 & 0x7ff) | (0xf800 | (target & 0x7ff)) << 16);
}

/* BL with 26 bits, which count words; ADRP with 21, which count pages, of which only those that
 * lead no further than 512 MiB were changed. */
static void
undo_arm64(uint8_t *code, uint32_t position)
{
  uint32_t word = bytes_le32(code);
  if (word >> 26 == 0x25) {
    bytes_put_le32(code, 0x94000000 | ((word - (position >> 2)) & 0x3ffffff));
    return;
  }
  uint32_t pages = (word >> 29 & 3) | (word >> 3 & 0x1ffffc);
  if ((word & 0x9f000000) != 0x90000000 || ((pages + 0x20000) & 0x1c0000) != 0)
    return;
  pages -= position >> 12;
  uint32_t sign = pages & 0x20000 ? 0xe00000 : 0;
  bytes_put_le32(code, (word & 0x9000001f) | (pages & 3) << 29 | (pages & 0x3fffc) << 3 | sign);
}

/* "bl": 24 bits, which count words. */
static void
undo_powerpc(uint8_t *code, uint32_t position)
{
  uint32_t word = bytes_be32(code);
  if ((word & 0xfc000003) == 0x48000001)
    bytes_put_be32(code, 0x48000001 | ((word - position) & 0x3fffffc));
}

/* "call": 30 bits, which count words, of which only those with 22 and a sign were changed. */
static void
undo_sparc(uint8_t *code, uint32_t position)
{
  uint32_t word = bytes_be32(code);
  if (word >> 22 != 0x100 && word >> 22 != 0x1ff)
    return;
  uint32_t target = ((word << 2) - position) >> 2;
  uint32_t sign = target & 0x400000 ? 0x3fc00000 : 0;
  bytes_put_be32(code, 0x40000000 | sign | (target & 0x3fffff));
}

/* A bundle of three instructions, 41 bits each, behind five that say which of them branch. */
static void
undo_ia64(uint8_t *code, uint32_t position)
{
  static const uint8_t branches[32] = {[16] = 4, [17] = 4, [18] = 6, [19] = 6, [22] = 7,
                                       [23] = 7, [24] = 4, [25] = 4, [28] = 4, [29] = 4};
  for (unsigned i = 0; i < 3; i++) {
    unsigned bit = 5 + 41 * i, shift = bit % 8;
    uint8_t *bytes = code + bit / 8;
    uint64_t word = bytes_le32(bytes) | (uint64_t)bytes_le16(bytes + 4) << 32;
    uint64_t instruction = word >> shift;
    if ((branches[code[0] & 31] >> i & 1) == 0 || (instruction >> 37 & 15) != 5 ||
        (instruction >> 9 & 7) != 0)
      continue;
    uint32_t bundle = (uint32_t)(instruction >> 13 & 0xfffff) | (uint32_t)(instruction >> 36 & 1)
                                                                    << 20;
    bundle -= position >> 4;
    instruction &= ~((uint64_t)0x8fffff << 13);
    instruction |= (uint64_t)(bundle & 0xfffff) << 13 | (uint64_t)(bundle >> 20 & 1) << 36;
    word = (word & (((uint64_t)1 << shift) - 1)) | instruction << shift;
    bytes_put_le32(bytes, (uint32_t)word);
    bytes[4] = (uint8_t)(word >> 32);
    bytes[5] = (uint8_t)(word >> 40);
  }
}

/* How they lie: each `step` bytes there may be one of `len`. */
struct instructions {
  lzma_vli id;
  size_t step;
  size_t len;
  void (*undo)(uint8_t *code, uint32_t position);
};

static const struct instructions known[] = {
    {LZMA_FILTER_POWERPC, 4, 4, undo_powerpc}, {LZMA_FILTER_IA64, 16, 16, undo_ia64},
    {LZMA_FILTER_ARM, 4, 4, undo_arm},         {LZMA_FILTER_ARMTHUMB, 2, 4, undo_arm_thumb},
    {LZMA_FILTER_SPARC, 4, 4, undo_sparc},     {LZMA_FILTER_ARM64, 4, 4, undo_arm64},
};

static const struct instructions *
instructions_of(lzma_vli id)
{
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
    if (known[i].id == id)
      return &known[i];
  }
  return NULL;
}

static size_t
undo_instructions(struct xz_filter *filter, uint8_t *bytes, size_t len)
{
  const struct instructions *kind = instructions_of(filter->id);
  size_t at = 0;
  for (; at + kind->len <= len; at += kind->step)
    kind->undo(bytes + at, filter->position + (uint32_t)at);
  return at;
}

/* ---- x86 ---------------------------------------------------------------------------------------
 *
 * A call or jump is an opcode and four bytes. Only those were changed that lead less than 16 MiB
 * away, so that the last of the bytes is a sign: all zeros or ones.
 */

#define X86_LEN 5
/* Bits of `unchanged`, which move up with every byte: from 1 on opcodes, from X86_SIGN on those of
 * them whose last byte looked like a sign. After three bytes they do not matter any more. */
#define X86_SIGN 0x10
#define X86_STILL 0x77

static bool
is_sign(uint8_t byte)
{
  return byte == 0 || byte == 0xff;
}

/* What is left of `unchanged` so many bytes further on. */
static uint32_t
move_on(uint32_t unchanged, uint32_t bytes)
{
  if (bytes > X86_LEN)
    return 0;
  while (bytes-- > 0)
    unchanged = (unchanged & X86_STILL) << 1;
  return unchanged;
}

/* Whether what follows an opcode was changed by whoever filtered. */
static bool
was_changed(uint32_t unchanged, uint8_t last_byte)
{
  return is_sign(last_byte) && unchanged < 2 * X86_SIGN &&
         __builtin_popcount(unchanged >> 1 & 7) <= 1;
}

/* The distance that an address is away. If the last byte of an opcode before lies among its bytes,
 * and would become a sign, these were inverted: or that opcode would look like one that was
 * changed. */
static uint32_t
distance_to(uint32_t address, uint32_t from, uint32_t unchanged)
{
  uint32_t distance = address - from;
  if (unchanged == 0)
    return distance;
  unsigned shift = 8 * (32 - (unsigned)__builtin_clz(unchanged >> 1));
  if (is_sign((uint8_t)(distance >> (24 - shift))))
    distance = (distance ^ ((1U << (32 - shift)) - 1)) - from;
  return distance;
}

static size_t
undo_x86(struct xz_filter *filter, uint8_t *bytes, size_t len)
{
  size_t at = 0;
  if (filter->position - filter->opcode_at > X86_LEN) /* positions begin again after 4 GiB */
    filter->opcode_at = filter->position - X86_LEN;
  while (at + X86_LEN <= len) {
    uint8_t *code = bytes + at;
    if ((code[0] & 0xfe) != 0xe8) {
      at++;
      continue;
    }
    uint32_t here = filter->position + (uint32_t)at;
    filter->unchanged = move_on(filter->unchanged, here - filter->opcode_at);
    filter->opcode_at = here;
    if (!was_changed(filter->unchanged, code[4])) {
      filter->unchanged |= is_sign(code[4]) ? X86_SIGN | 1 : 1;
      at++;
      continue;
    }
    uint32_t distance = distance_to(bytes_le32(code + 1), here + X86_LEN, filter->unchanged);
    bytes_put_le32(code + 1, (distance & 0x1ffffff) | (distance & 0x1000000 ? 0xfe000000 : 0));
    filter->unchanged = 0;
    at += X86_LEN;
  }
  return at;
}

/* ---- delta -------------------------------------------------------------------------------------
 */

static size_t
undo_delta(struct xz_filter *filter, uint8_t *bytes, size_t len)
{
  for (size_t i = 0; i < len; i++) {
    uint32_t at = filter->position + (uint32_t)i;
    bytes[i] = (uint8_t)(bytes[i] + filter->before[(at - filter->distance) % LZMA_DELTA_DIST_MAX]);
    filter->before[at % LZMA_DELTA_DIST_MAX] = bytes[i];
  }
  return len;
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static uint32_t
first_position(const lzma_filter *said)
{
  return said->options ? ((const lzma_options_bcj *)said->options)->start_offset : 0;
}

bool
xz_filter_is_known(const lzma_filter *said)
{
  const struct instructions *kind = instructions_of(said->id);
  return said->id == LZMA_FILTER_DELTA || said->id == LZMA_FILTER_X86 ||
         (kind && first_position(said) % kind->step == 0);
}

void
xz_filter_begin(struct xz_filter *filter, const lzma_filter *said)
{
  *filter = (struct xz_filter){.id = said->id};
  if (said->id == LZMA_FILTER_DELTA) {
    filter->distance = ((const lzma_options_delta *)said->options)->dist;
    return;
  }
  filter->position = first_position(said);
  if (said->id == LZMA_FILTER_X86)
    filter->opcode_at = filter->position - X86_LEN;
}

size_t
xz_filter_undo(struct xz_filter *filter, uint8_t *bytes, size_t len)
{
  size_t done = filter->id == LZMA_FILTER_DELTA ? undo_delta(filter, bytes, len)
                : filter->id == LZMA_FILTER_X86 ? undo_x86(filter, bytes, len)
                                                : undo_instructions(filter, bytes, len);
  filter->position += (uint32_t)done;
  return done;
}

void
xz_filter_save(const struct xz_filter *filter, struct buffer *body)
{
  state_put_number(body, filter->id);
  state_put_number(body, filter->position);
  if (filter->id == LZMA_FILTER_DELTA) {
    state_put_number(body, filter->distance);
    state_put_bytes(body, filter->before, sizeof(filter->before));
  } else if (filter->id == LZMA_FILTER_X86) {
    state_put_number(body, filter->opcode_at);
    state_put_number(body, filter->unchanged);
  }
}

static void
restore_delta(struct xz_filter *filter, struct state_reader *reader)
{
  size_t len = 0;
  filter->distance = (uint32_t)state_get_number_up_to(reader, LZMA_DELTA_DIST_MAX);
  const void *before = state_get_bytes(reader, sizeof(filter->before), &len);
  if (reader->failed || filter->distance < LZMA_DELTA_DIST_MIN || len != sizeof(filter->before))
    reader->failed = true;
  else
    memcpy(filter->before, before, len);
}

void
xz_filter_restore(struct xz_filter *filter, struct state_reader *reader)
{
  const lzma_filter said = {.id = state_get_number(reader)};
  *filter = (struct xz_filter){.id = said.id};
  filter->position = (uint32_t)state_get_number_up_to(reader, UINT32_MAX);
  if (!xz_filter_is_known(&said)) {
    reader->failed = true;
  } else if (said.id == LZMA_FILTER_DELTA) {
    restore_delta(filter, reader);
  } else if (said.id == LZMA_FILTER_X86) {
    filter->opcode_at = (uint32_t)state_get_number_up_to(reader, UINT32_MAX);
    filter->unchanged = (uint32_t)state_get_number_up_to(reader, UINT8_MAX);
    reader->failed = reader->failed || filter->opcode_at == filter->position;
  }
}
