/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/deflate_block.h"

#include <stddef.h>
#include <string.h>

#include "populator/format/bytes.h"

#define LITLEN_SYMBOLS_MAX 286
#define DISTANCE_SYMBOLS_MAX 30
#define END_OF_BLOCK 256
#define CODE_LENGTHS 19 /* symbols of the code that the lengths of the others are written in */
#define CODE_LENGTH_BITS 7
#define DYNAMIC 2
/* The last of them may be a repetition that goes beyond the end. */
#define LENGTHS_ROOM (LITLEN_SYMBOLS_MAX + DISTANCE_SYMBOLS_MAX + 138)

static const uint16_t length_base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                       15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                       67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                      2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[] = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_bits[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                        6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

/* The next 57 bits or more; zeros behind the end. */
static uint64_t
peek(const struct deflate_input *input)
{
  if (input->at >= input->end)
    return 0;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): that is what an address in bits is */
  const uint8_t *byte = (const uint8_t *)(uintptr_t)(input->at >> 3);
  uint64_t left = (input->end >> 3) - (input->at >> 3);
  if (left >= sizeof(uint64_t))
    return bytes_le64(byte) >> (input->at & 7);
  uint64_t value = 0;
  memcpy(&value, byte, left);
  return le64toh(value) >> (input->at & 7);
}

static uint64_t
low_bits(uint64_t value, unsigned count)
{
  return value & (((uint64_t)1 << count) - 1);
}

static uint64_t
take(struct deflate_input *input, unsigned count)
{
  uint64_t value = low_bits(peek(input), count);
  input->at += count;
  return value;
}

/* ---- codes -------------------------------------------------------------------------------------
 */

/* -1: the lengths make no complete code. */
static int
code_init(struct deflate_code *code, const uint8_t *lengths, unsigned symbols)
{
  uint16_t offsets[DEFLATE_CODE_MAX + 2] = {0};
  memset(code->counts, 0, sizeof(code->counts));
  for (unsigned i = 0; i < symbols; i++)
    code->counts[lengths[i]]++;
  code->counts[0] = 0;
  int left = 1;
  for (int i = 1; i <= DEFLATE_CODE_MAX; i++) {
    left = 2 * left - code->counts[i];
    if (left < 0)
      return -1;
    offsets[i + 1] = (uint16_t)(offsets[i] + code->counts[i]);
  }
  for (unsigned i = 0; i < symbols; i++) {
    if (lengths[i])
      code->symbols[offsets[lengths[i]]++] = (uint16_t)i;
  }
  return left == 0 ? 0 : -1;
}

/* The symbol that `bits` begin with, a bit at a time; -1: none. */
static int
code_symbol(const struct deflate_code *code, uint64_t bits, unsigned *ret_len)
{
  int value = 0, first = 0, index = 0;
  for (unsigned len = 1; len <= DEFLATE_CODE_MAX; len++) {
    int count = code->counts[len];
    value |= (int)(bits & 1);
    if (value < first + count) {
      *ret_len = len;
      return code->symbols[index + value - first];
    }
    index += count;
    first = (first + count) * 2;
    value *= 2;
    bits >>= 1;
  }
  return -1;
}

/* The code behind this one, in a table of so many entries. Codes stand in it with their first bit
 * lowest, so the carry goes the other way: the highest bit that is not set is, and those above are
 * cleared. False: this was the last. */
static bool
next_code(unsigned *code, unsigned entries)
{
  unsigned unset = *code ^ (entries - 1);
  if (unset == 0)
    return false;
  unsigned bit = 1U << (31 - __builtin_clz(unset));
  *code = (*code & (bit - 1)) | bit;
  return true;
}

static uint16_t
litlen_entry(unsigned symbol, unsigned len)
{
  if (symbol < END_OF_BLOCK)
    return (uint16_t)(len | DEFLATE_LITERAL | symbol << 8);
  if (symbol == END_OF_BLOCK)
    return 0;
  symbol -= END_OF_BLOCK + 1;
  return (uint16_t)(len | (unsigned)length_bits[symbol] << 4 |
                    (unsigned)(length_base[symbol] - DEFLATE_LENGTH_MIN) << 8);
}

static uint32_t
distance_entry(unsigned symbol, unsigned len)
{
  return len | (uint32_t)distance_bits[symbol] << 4 | (uint32_t)distance_base[symbol] << 8;
}

/* Fills a table. For each further bit what is there is put behind itself, so that a short code is
 * found whatever follows it; codes that are too long get no entry. */
#define DEFINE_FILL(name, type, table_bits, entry_of)                                              \
  static void name(type *table, const struct deflate_code *code)                                   \
  {                                                                                                \
    const uint16_t *symbol = code->symbols;                                                        \
    unsigned at = 0, entries = 1;                                                                  \
    bool is_more = true;                                                                           \
    for (unsigned len = 1; len <= (table_bits); len++) {                                           \
      memcpy(table + entries, table, entries * sizeof(*table));                                    \
      entries *= 2;                                                                                \
      for (unsigned i = 0; i < code->counts[len]; i++) {                                           \
        table[at] = entry_of(*symbol++, len);                                                      \
        is_more = next_code(&at, entries);                                                         \
      }                                                                                            \
    }                                                                                              \
    for (; is_more; is_more = next_code(&at, entries))                                             \
      table[at] = 0;                                                                               \
  }

DEFINE_FILL(fill_litlen, uint16_t, DEFLATE_LITLEN_BITS, litlen_entry)
DEFINE_FILL(fill_distance, uint32_t, DEFLATE_DISTANCE_BITS, distance_entry)

/* ---- the header --------------------------------------------------------------------------------
 */

/* The code in which lengths are written. */
static int
read_length_code(struct deflate_input *input, unsigned count, struct deflate_code *code)
{
  static const uint8_t order[CODE_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                              11, 4,  12, 3, 13, 2, 14, 1, 15};
  uint8_t lengths[CODE_LENGTHS] = {0};
  for (unsigned i = 0; i < count; i++)
    lengths[order[i]] = (uint8_t)take(input, 3);
  return code_init(code, lengths, CODE_LENGTHS);
}

/* The lengths of both codes, one behind the other: a length each, or a repetition. */
static int
read_lengths(struct deflate_input *input, const struct deflate_code *code, uint8_t *lengths,
             unsigned count)
{
  uint8_t table[1 << CODE_LENGTH_BITS]; /* 3 bits of length, then the symbol */
  for (unsigned i = 0; i < sizeof(table); i++) {
    unsigned len = 0;
    int symbol = code_symbol(code, i, &len);
    table[i] = (uint8_t)((unsigned)symbol << 3 | len);
  }
  unsigned n = 0;
  while (n < count && input->at < input->end) {
    uint8_t entry = table[low_bits(peek(input), CODE_LENGTH_BITS)];
    unsigned symbol = entry >> 3;
    input->at += entry & 7;
    if (symbol <= DEFLATE_CODE_MAX) {
      lengths[n++] = (uint8_t)symbol;
      continue;
    }
    if (symbol == 16 && n == 0)
      return -1;
    uint8_t repeated = symbol == 16 ? lengths[n - 1] : 0;
    unsigned times = (unsigned)(symbol == 16   ? 3 + take(input, 2)
                                : symbol == 17 ? 3 + take(input, 3)
                                               : 11 + take(input, 7));
    memset(lengths + n, repeated, times);
    n += times;
  }
  return n == count && input->at <= input->end ? 0 : -1;
}

int
deflate_block_begin(struct deflate_block *block, struct deflate_input *input)
{
  uint8_t lengths[LENGTHS_ROOM];
  struct deflate_code length_code;
  block->is_last = take(input, 1) != 0;
  if (take(input, 2) != DYNAMIC)
    return -1;
  unsigned litlens = (unsigned)take(input, 5) + 257;
  unsigned distances = (unsigned)take(input, 5) + 1;
  unsigned count = (unsigned)take(input, 4) + 4;
  if (litlens > LITLEN_SYMBOLS_MAX || distances > DISTANCE_SYMBOLS_MAX ||
      read_length_code(input, count, &length_code) < 0 ||
      read_lengths(input, &length_code, lengths, litlens + distances) < 0 ||
      code_init(&block->litlen, lengths, litlens) < 0 ||
      code_init(&block->distance, lengths + litlens, distances) < 0)
    return -1;
  fill_litlen(block->litlen_table, &block->litlen);
  fill_distance(block->distance_table, &block->distance);
  return 0;
}

/* ---- items -------------------------------------------------------------------------------------
 */

/* The entry of the next distance, whether or not the table has it; 0: there is none. */
static uint32_t
distance_entry_of(const struct deflate_block *block, uint64_t bits)
{
  uint32_t entry = block->distance_table[low_bits(bits, DEFLATE_DISTANCE_BITS)];
  unsigned len;
  if (entry)
    return entry;
  int symbol = code_symbol(&block->distance, bits, &len);
  return symbol < 0 ? 0 : distance_entry((unsigned)symbol, len);
}

/* The same of a literal or length; 0 with *ret_end_len not 0: the end of the block. */
static uint16_t
litlen_entry_of(const struct deflate_block *block, uint64_t bits, unsigned *ret_end_len)
{
  uint16_t entry = block->litlen_table[low_bits(bits, DEFLATE_LITLEN_BITS)];
  unsigned len = 0;
  *ret_end_len = 0;
  if (entry)
    return entry;
  int symbol = code_symbol(&block->litlen, bits, &len);
  if (symbol == END_OF_BLOCK)
    *ret_end_len = len;
  return symbol < 0 ? 0 : litlen_entry((unsigned)symbol, len);
}

enum deflate_item
deflate_block_next(const struct deflate_block *block, struct deflate_input *input,
                   unsigned *ret_literal_or_length, unsigned *ret_distance)
{
  unsigned end_len;
  uint64_t bits = peek(input);
  uint16_t litlen = litlen_entry_of(block, bits, &end_len);
  unsigned len = litlen & 15, more = litlen >> 4 & 7;
  input->at += len + end_len;
  if (litlen == 0)
    return end_len && input->at <= input->end ? DEFLATE_ITEM_END : DEFLATE_ITEM_DAMAGED;
  *ret_literal_or_length = litlen >> 8;
  if (litlen & DEFLATE_LITERAL)
    return input->at <= input->end ? DEFLATE_ITEM_LITERAL : DEFLATE_ITEM_DAMAGED;
  *ret_literal_or_length += DEFLATE_LENGTH_MIN + (unsigned)low_bits(bits >> len, more);
  bits >>= len + more;
  uint32_t distance = distance_entry_of(block, bits);
  len = distance & 15;
  *ret_distance = (distance >> 8) + (unsigned)low_bits(bits >> len, distance >> 4 & 15);
  input->at += more + len + (distance >> 4 & 15);
  return distance && input->at <= input->end ? DEFLATE_ITEM_MATCH : DEFLATE_ITEM_DAMAGED;
}
