/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL's older interface: unlike EVP's, its state is plain data and can be saved. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "populator/transfer/checksum.h"

#include <assert.h>
#include <ctype.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(SHA256_CTX) <= sizeof(((struct checksum *)NULL)->state), "state fits");
static_assert(sizeof(SHA512_CTX) <= sizeof(((struct checksum *)NULL)->state), "state fits");

static const struct {
  const char *prefix;
  size_t digits;
} kinds[] = {
    [CHECKSUM_SHA256] = {"sha256:", (size_t)2 * SHA256_DIGEST_LENGTH},
    [CHECKSUM_SHA512] = {"sha512:", (size_t)2 * SHA512_DIGEST_LENGTH},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int
checksum_parse(const char *text, enum checksum_kind *ret_kind, struct error **err)
{
  for (size_t i = 0; i < KINDS; i++) {
    size_t prefix = strlen(kinds[i].prefix);
    if (strncmp(text, kinds[i].prefix, prefix) != 0)
      continue;
    if (strlen(text + prefix) == kinds[i].digits &&
        strspn(text + prefix, "0123456789abcdef") == kinds[i].digits) {
      *ret_kind = (enum checksum_kind)i;
      return 0;
    }
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "checksum '%.32s…': %zu lower-case hexadecimal digits are needed behind '%s'",
                     text, kinds[i].digits, kinds[i].prefix);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT, "checksum '%.64s': sha256:… or sha512:… is needed",
                   text);
}

int
checksum_from_text(const char *text, char ret_text[CHECKSUM_TEXT_MAX], struct error **err)
{
  enum checksum_kind kind;
  char small[CHECKSUM_TEXT_MAX];
  size_t len = strnlen(text, sizeof(small) - 1);
  for (size_t i = 0; i < len; i++)
    small[i] = (char)tolower((unsigned char)text[i]);
  small[len] = '\0';
  if (checksum_parse(small, &kind, err) < 0)
    return -1;
  memcpy(ret_text, small, len + 1);
  return 0;
}

enum checksum_kind
checksum_kind_of(const char *wanted)
{
  enum checksum_kind kind = CHECKSUM_SHA256;
  bool is_known = strcmp(wanted, CHECKSUM_ASKED) == 0 || checksum_parse(wanted, &kind, NULL) == 0;
  assert(is_known);
  (void)is_known;
  return kind;
}

void
checksum_init(struct checksum *checksum, enum checksum_kind kind)
{
  *checksum = (struct checksum){.kind = kind};
  if (kind == CHECKSUM_SHA256)
    (void)SHA256_Init((SHA256_CTX *)(void *)checksum->state.bytes);
  else
    (void)SHA512_Init((SHA512_CTX *)(void *)checksum->state.bytes);
}

void
checksum_update(struct checksum *checksum, const void *data, size_t len)
{
  if (checksum->kind == CHECKSUM_SHA256)
    (void)SHA256_Update((SHA256_CTX *)(void *)checksum->state.bytes, data, len);
  else
    (void)SHA512_Update((SHA512_CTX *)(void *)checksum->state.bytes, data, len);
}

void
checksum_text(const struct checksum *checksum, char ret_text[CHECKSUM_TEXT_MAX])
{
  struct checksum copy = *checksum;
  unsigned char hash[SHA512_DIGEST_LENGTH];
  if (copy.kind == CHECKSUM_SHA256)
    (void)SHA256_Final(hash, (SHA256_CTX *)(void *)copy.state.bytes);
  else
    (void)SHA512_Final(hash, (SHA512_CTX *)(void *)copy.state.bytes);
  size_t at = (size_t)snprintf(ret_text, CHECKSUM_TEXT_MAX, "%s", kinds[copy.kind].prefix);
  for (size_t i = 0; i < kinds[copy.kind].digits / 2; i++)
    at += (size_t)snprintf(ret_text + at, CHECKSUM_TEXT_MAX - at, "%02x", hash[i]);
}

int
checksum_check(const struct checksum *checksum, const char *wanted, struct error **err)
{
  char actual[CHECKSUM_TEXT_MAX];
  checksum_text(checksum, actual);
  if (strcmp(wanted, CHECKSUM_ASKED) != 0 && strcmp(wanted, actual) != 0)
    return error_set(err, ERROR_DATA_LOSS, "checksum of the source is %s, not %s as it should be",
                     actual, wanted);
  return 0;
}

void
checksum_save(const struct checksum *checksum, struct buffer *state)
{
  buffer_append_u32(state, (uint32_t)checksum->kind);
  (void)buffer_append(state, checksum->state.bytes, sizeof(checksum->state.bytes));
}

void
checksum_restore(struct wire_reader *state, struct checksum *ret_checksum)
{
  uint32_t kind = wire_get_u32(state);
  if (kind >= KINDS || state->left < sizeof(ret_checksum->state.bytes))
    state->failed = true;
  if (state->failed)
    return;
  ret_checksum->kind = (enum checksum_kind)kind;
  memcpy(ret_checksum->state.bytes, state->at, sizeof(ret_checksum->state.bytes));
  state->at += sizeof(ret_checksum->state.bytes);
  state->left -= sizeof(ret_checksum->state.bytes);
  /* The position inside a block is used as an index: it must not lead outside. */
  unsigned num = kind == CHECKSUM_SHA256 ? ((SHA256_CTX *)(void *)ret_checksum->state.bytes)->num
                                         : ((SHA512_CTX *)(void *)ret_checksum->state.bytes)->num;
  unsigned md_len = kind == CHECKSUM_SHA256
                        ? ((SHA256_CTX *)(void *)ret_checksum->state.bytes)->md_len
                        : ((SHA512_CTX *)(void *)ret_checksum->state.bytes)->md_len;
  unsigned block = kind == CHECKSUM_SHA256 ? SHA256_CBLOCK : SHA512_CBLOCK;
  if (num >= block || md_len != kinds[kind].digits / 2)
    state->failed = true;
}
