/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of deflate_lanes.h: a 64-bit number a lane, eight lanes a vector, two vectors by
 * turns. The only file that is compiled for AVX-512; nothing of it runs where there is none.
 *
 * A step of a vector finds in each lane, by three look-ups one behind the other, a token:
 *   bits 0-7, 8-15   two literals
 *   bits 16-17       how many of them count
 *   bit 24           the match is not one copy of COPY_BYTES, behind itself or longer
 *   bits 32-47       length of the match, 0 for none
 *   bits 48-63       its distance
 * and then does what the tokens say, lane by lane: stores the literals, counted or not, and copies
 * COPY_BYTES of the match, needed or not. What is too much lies behind the end and is written over
 * later. So there are no branches but for what is rare: bit 24, and what the tables do not tell.
 *
 * The longest wait is for look-ups. The window of input bits for the next step is therefore asked
 * for while the first look-up of that step is under way, which is done with the bits that are left
 * over; and while one vector waits, the other's tokens are carried out, in just that order. */
#include "populator/format/deflate_lanes_parts.h"

#if defined(__x86_64__)

#include <assert.h>
#include <immintrin.h>
#include <string.h>

#define COPY_BYTES 32
/* Two literals, and what is copied of the longest match. */
static_assert(2 + DEFLATE_LENGTH_MAX + COPY_BYTES <= DEFLATE_STEP_OUT, "room for a step");
/* Of a window, which is loaded from the byte that its first bit is in. */
#define WINDOW_BITS 57
/* As many must be left over for the first look-up of the next step. */
#define LEFT_OVER_BITS DEFLATE_CODE_MAX
#define ALL_LANES 0xff

#define TOKEN_COUNT_SHIFT 16
#define TOKEN_LONG ((uint64_t)1 << 24)
#define TOKEN_LENGTH_SHIFT 32
#define TOKEN_DISTANCE_SHIFT 48

/* Of _mm512_ternarylogic_epi64(). */
#define A_AND_B_OR_C 0xea
#define A_OR_B_AND_C 0xf8
#define A_OR_B_OR_C 0xfe

#define EACH(x) _mm512_set1_epi64(x)
#define INLINE static inline __attribute__((always_inline))

struct vector {
  __m512i at;
  __m512i at_safe;
  __m512i made;
  __m512i made_safe;
  __m512i left_over;     /* bits behind those that the last step took */
  __mmask8 is_left_over; /* clear where they are too few */
  __m512i litlen;        /* where the lane's tables begin */
  __m512i distance;
};

/* ---- tokens ------------------------------------------------------------------------------------
 */

static uint64_t
token_of(unsigned length, unsigned distance)
{
  bool is_long = length > COPY_BYTES || length > distance;
  return (uint64_t)length << TOKEN_LENGTH_SHIFT | (uint64_t)distance << TOKEN_DISTANCE_SHIFT |
         (is_long ? TOKEN_LONG : 0);
}

INLINE void
copy_piece(uint8_t *out, const uint8_t *from)
{
  __m256i piece; /* in between: the two may overlap */
  memcpy(&piece, from, sizeof(piece));
  memcpy(out, &piece, sizeof(piece));
}

/* In pieces that are no larger than the distance; up to a piece too much. */
static __attribute__((noinline)) void
copy_long(uint8_t *out, size_t length, size_t distance)
{
  const uint8_t *from = out - distance;
  if (distance >= COPY_BYTES) {
    for (size_t i = 0; i < length; i += COPY_BYTES)
      copy_piece(out + i, from + i);
  } else if (distance == 1) {
    memset(out, *from, length);
  } else if (distance >= sizeof(uint64_t)) {
    for (size_t i = 0; i < length; i += sizeof(uint64_t))
      memcpy(out + i, from + i, sizeof(uint64_t));
  } else {
    for (size_t i = 0; i < length; i++)
      out[i] = from[i];
  }
}

INLINE void
carry_out(const uint64_t *tokens, uint8_t **outs)
{
#pragma GCC unroll 8
  for (int i = 0; i < DEFLATE_VECTOR; i++) {
    uint64_t token = tokens[i];
    uint16_t literals = (uint16_t)token;
    size_t length = (uint16_t)(token >> TOKEN_LENGTH_SHIFT);
    size_t distance = token >> TOKEN_DISTANCE_SHIFT;
    uint8_t *out = outs[i];
    memcpy(out, &literals, sizeof(literals));
    out += token >> TOKEN_COUNT_SHIFT & 3;
    if (__builtin_expect((token & TOKEN_LONG) != 0, 0))
      copy_long(out, length, distance);
    else
      copy_piece(out, out - distance);
    outs[i] = out + length;
  }
}

/* ---- what the tables do not tell ---------------------------------------------------------------
 */

/* The token of one lane: a single item. Nothing comes of it where something is to happen. */
static uint64_t
single_token(struct deflate_lanes *lanes, int lane, uint64_t *at, uint64_t *made,
             struct deflate_events *events)
{
  struct deflate_input input = {.at = *at, .end = lanes->ends[lane]};
  unsigned value, distance;
  enum deflate_item item = deflate_block_next(&lanes->blocks[lane], &input, &value, &distance);
  *at = input.at;
  if (item == DEFLATE_ITEM_LITERAL) {
    *made += 1;
    return value | (uint64_t)1 << TOKEN_COUNT_SHIFT;
  }
  if (item == DEFLATE_ITEM_MATCH && distance <= *made) {
    *made += value;
    return token_of(value, distance);
  }
  if (item == DEFLATE_ITEM_END)
    events->ended |= (uint32_t)1 << lane;
  else
    events->damaged |= (uint32_t)1 << lane;
  return 0;
}

/* Where lanes are, in memory: what a vector is in registers must not have an address. */
struct places {
  uint64_t at[DEFLATE_VECTOR];
  uint64_t made[DEFLATE_VECTOR];
};

INLINE void
store_places(struct places *places, __m512i at, __m512i made)
{
  _mm512_storeu_si512(places->at, at);
  _mm512_storeu_si512(places->made, made);
}

/* Makes the step anew in these lanes, where it was for nothing. */
static __attribute__((noinline)) void
step_singly(struct deflate_lanes *lanes, int first, unsigned which, const struct places *before,
            struct places *places, uint64_t *tokens, struct deflate_events *events)
{
  for (; which; which &= which - 1) {
    int i = __builtin_ctz(which);
    places->at[i] = before->at[i];
    places->made[i] = before->made[i];
    tokens[i] = single_token(lanes, first + i, &places->at[i], &places->made[i], events);
  }
}

/* ---- a step ------------------------------------------------------------------------------------
 */

/* The index into tables that begin at `base`, by the lowest bits of a window. */
INLINE __m512i
index_of(__m512i window, int bits, __m512i base)
{
  return _mm512_ternarylogic_epi64(window, EACH((1 << bits) - 1), base, A_AND_B_OR_C);
}

INLINE __m512i
look_up_litlen(const struct deflate_lanes *lanes, const struct vector *v, __m512i window)
{
  return _mm512_i64gather_epi64(index_of(window, DEFLATE_LITLEN_BITS, v->litlen), lanes->litlen,
                                sizeof(lanes->litlen[0][0]));
}

INLINE __m512i
look_up_distance(const struct deflate_lanes *lanes, const struct vector *v, __m512i window)
{
  return _mm512_i64gather_epi64(index_of(window, DEFLATE_DISTANCE_BITS, v->distance),
                                lanes->distance, sizeof(lanes->distance[0][0]));
}

/* `count` bits from `shift` on. */
INLINE __m512i
field(__m512i value, int shift, int count)
{
  return _mm512_and_si512(_mm512_srli_epi64(value, (unsigned)shift), EACH((1 << count) - 1));
}

/* The lowest `count` bits. */
INLINE __m512i
low_bits(__m512i value, __m512i count)
{
  return _mm512_andnot_si512(_mm512_sllv_epi64(EACH(-1), count), value);
}

INLINE __m512i
load_windows(__m512i at)
{
  __m512i bytes = _mm512_i64gather_epi64(_mm512_srli_epi64(at, 3), NULL, 1);
  return _mm512_srlv_epi64(bytes, _mm512_and_si512(at, EACH(7)));
}

INLINE __m512i
make_tokens(__m512i first, __m512i second, __m512i literals, __m512i length, __m512i distance)
{
  __m512i tokens =
      _mm512_ternarylogic_epi64(field(first, 8, 8), second, EACH(0xff00), A_OR_B_AND_C);
  __mmask8 is_long = _mm512_cmpgt_epu64_mask(length, _mm512_min_epu64(distance, EACH(COPY_BYTES)));
  tokens = _mm512_or_si512(tokens, _mm512_slli_epi64(literals, TOKEN_COUNT_SHIFT));
  tokens = _mm512_mask_or_epi64(tokens, is_long, tokens, EACH(TOKEN_LONG));
  return _mm512_ternarylogic_epi64(tokens, _mm512_slli_epi64(length, TOKEN_LENGTH_SHIFT),
                                   _mm512_slli_epi64(distance, TOKEN_DISTANCE_SHIFT), A_OR_B_OR_C);
}

/* What a step finds in each lane. */
struct found {
  __m512i entry1; /* a literal or a length */
  __m512i entry2; /* behind a literal, another one; else anything */
  __mmask8 is_literal1;
  __mmask8 is_literal2;
  __mmask8 is_odd; /* the tables do not tell, or the window has too few bits */
  __m512i length;  /* 0: no match */
  __m512i distance;
  __m512i bits; /* taken */
};

INLINE struct found
find(const struct deflate_lanes *lanes, const struct vector *v, __m512i begin, __m512i window)
{
  const __m512i code_bits = EACH(15), literal_bit = EACH(DEFLATE_LITERAL);
  const __m512i entry1 = look_up_litlen(lanes, v, begin);
  const __m512i bits1 = _mm512_and_si512(entry1, code_bits);
  const __mmask8 is_literal1 = _mm512_test_epi64_mask(entry1, literal_bit);
  const __m512i window1 = _mm512_srlv_epi64(window, bits1);
  const __m512i entry2 = look_up_litlen(lanes, v, window1);
  const __m512i bits2 = _mm512_maskz_and_epi64(is_literal1, entry2, code_bits);
  const __m512i window2 = _mm512_srlv_epi64(window1, bits2);
  const __m512i last = _mm512_mask_mov_epi64(entry1, is_literal1, entry2);
  const __mmask8 is_match = _mm512_testn_epi64_mask(last, literal_bit);

  const __m512i length_bits = field(last, 4, 3);
  const __m512i window3 = _mm512_srlv_epi64(window2, length_bits);
  const __m512i entry3 = look_up_distance(lanes, v, window3);
  const __m512i bits3 = _mm512_and_si512(entry3, code_bits), distance_bits = field(entry3, 4, 4);
  const __m512i window4 = _mm512_srlv_epi64(window3, bits3);
  const __m512i bits12 = _mm512_add_epi64(bits1, bits2);
  const __m512i bits =
      _mm512_mask_add_epi64(bits12, is_match, _mm512_add_epi64(bits12, length_bits),
                            _mm512_add_epi64(bits3, distance_bits));
  const __m512i length = _mm512_add_epi64(field(last, 8, 8), EACH(DEFLATE_LENGTH_MIN));
  const __mmask8 is_odd12 =
      _kor_mask8(_mm512_testn_epi64_mask(entry1, code_bits),
                 _mm512_mask_testn_epi64_mask(is_literal1, entry2, code_bits));
  const __mmask8 is_odd3 = _kor_mask8(_mm512_mask_testn_epi64_mask(is_match, entry3, code_bits),
                                      _mm512_cmpgt_epu64_mask(bits, EACH(WINDOW_BITS)));
  return (struct found){
      .entry1 = entry1,
      .entry2 = entry2,
      .is_literal1 = is_literal1,
      .is_literal2 = _mm512_test_epi64_mask(last, literal_bit),
      .is_odd = _kor_mask8(is_odd12, is_odd3),
      .length = _mm512_maskz_add_epi64(is_match, length, low_bits(window2, length_bits)),
      .distance =
          _mm512_maskz_add_epi64(is_match, field(entry3, 8, 16), low_bits(window4, distance_bits)),
      .bits = bits,
  };
}

/* One step of the lanes from `first` on. Returns those that have no room for another. */
INLINE __mmask8
step(struct deflate_lanes *lanes, int first, struct vector *v, uint64_t *tokens,
     struct deflate_events *events)
{
  const __m512i one = EACH(1), at_before = v->at, made_before = v->made;
  const __m512i window = load_windows(v->at);
  __m512i begin = v->left_over;
  if (__builtin_expect(v->is_left_over != ALL_LANES, 0))
    begin = window;
  const struct found f = find(lanes, v, begin, window);
  __m512i literals = _mm512_maskz_mov_epi64(f.is_literal1, one);
  literals = _mm512_mask_add_epi64(literals, f.is_literal2, literals, one);
  const __m512i match_at = _mm512_add_epi64(v->made, literals);
  _mm512_store_si512(tokens, make_tokens(f.entry1, f.entry2, literals, f.length, f.distance));
  v->at = _mm512_add_epi64(v->at, f.bits);
  v->made = _mm512_add_epi64(match_at, f.length);
  v->left_over = _mm512_srlv_epi64(window, f.bits);
  v->is_left_over = _mm512_cmple_epu64_mask(f.bits, EACH(WINDOW_BITS - LEFT_OVER_BITS));

  /* A match of what is before the beginning is told by who looks at items singly, too. */
  const __mmask8 is_odd = _kor_mask8(f.is_odd, _mm512_cmpgt_epu64_mask(f.distance, match_at));
  if (__builtin_expect(!_kortestz_mask8_u8(is_odd, is_odd), 0)) {
    struct places before, places;
    store_places(&before, at_before, made_before);
    store_places(&places, v->at, v->made);
    step_singly(lanes, first, is_odd, &before, &places, tokens, events);
    v->at = _mm512_loadu_si512(places.at);
    v->made = _mm512_loadu_si512(places.made);
    v->is_left_over = 0;
  }
  return _kor_mask8(_mm512_cmpgt_epu64_mask(v->made, v->made_safe),
                    _mm512_cmpgt_epu64_mask(v->at, v->at_safe));
}

/* ---- all lanes ---------------------------------------------------------------------------------
 */

INLINE void
load(const struct deflate_lanes *lanes, int first, struct vector *v)
{
  const __m512i lane = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), EACH(first));
  v->at = _mm512_load_si512(lanes->at + first);
  v->at_safe = _mm512_load_si512(lanes->at_safe + first);
  v->made = _mm512_load_si512(lanes->made + first);
  v->made_safe = _mm512_load_si512(lanes->made_safe + first);
  v->left_over = v->at;
  v->is_left_over = 0;
  v->litlen = _mm512_slli_epi64(lane, DEFLATE_LITLEN_BITS);
  v->distance = _mm512_slli_epi64(lane, DEFLATE_DISTANCE_BITS);
}

INLINE void
save(struct deflate_lanes *lanes, int first, const struct vector *v)
{
  _mm512_store_si512(lanes->at + first, v->at);
  _mm512_store_si512(lanes->made + first, v->made);
}

void
deflate_steps_run(struct deflate_lanes *lanes, struct deflate_events *ret_events)
{
  uint64_t tokens1[DEFLATE_VECTOR] __attribute__((aligned(64)));
  uint64_t tokens2[DEFLATE_VECTOR] __attribute__((aligned(64)));
  struct deflate_events events = {0};
  struct vector v1, v2;
  load(lanes, 0, &v1);
  load(lanes, DEFLATE_VECTOR, &v2);
  memset(tokens2, 0, sizeof(tokens2));
  do {
    __mmask8 near1 = step(lanes, 0, &v1, tokens1, &events);
    carry_out(tokens2, lanes->out + DEFLATE_VECTOR);
    __mmask8 near2 = step(lanes, DEFLATE_VECTOR, &v2, tokens2, &events);
    carry_out(tokens1, lanes->out);
    events.near = near1 | (uint32_t)near2 << DEFLATE_VECTOR;
  } while (!(events.near | events.ended | events.damaged));
  carry_out(tokens2, lanes->out + DEFLATE_VECTOR);
  save(lanes, 0, &v1);
  save(lanes, DEFLATE_VECTOR, &v2);
  *ret_events = events;
}

bool
deflate_steps_are_possible(void)
{
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

#else

bool
deflate_steps_are_possible(void)
{
  return false;
}

void
deflate_steps_run(struct deflate_lanes *lanes, struct deflate_events *ret_events)
{
  (void)lanes;
  *ret_events = (struct deflate_events){0};
}

#endif
