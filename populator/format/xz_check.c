/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL's older interface: unlike EVP's, its state is plain data and can be saved. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "populator/format/xz_check.h"

#include <endian.h>
#include <string.h>

bool
xz_check_is_known(lzma_check kind)
{
  return kind == LZMA_CHECK_NONE || kind == LZMA_CHECK_CRC32 || kind == LZMA_CHECK_CRC64 ||
         kind == LZMA_CHECK_SHA256;
}

void
xz_check_begin(struct xz_check *check, lzma_check kind)
{
  *check = (struct xz_check){.kind = kind};
  if (kind == LZMA_CHECK_SHA256)
    (void)SHA256_Init(&check->sha256);
}

void
xz_check_update(struct xz_check *check, const void *data, size_t len)
{
  if (check->kind == LZMA_CHECK_CRC32)
    check->crc = lzma_crc32(data, len, (uint32_t)check->crc);
  else if (check->kind == LZMA_CHECK_CRC64)
    check->crc = lzma_crc64(data, len, check->crc);
  else if (check->kind == LZMA_CHECK_SHA256)
    (void)SHA256_Update(&check->sha256, data, len);
}

bool
xz_check_is(struct xz_check *check, const uint8_t *said)
{
  uint8_t made[SHA256_DIGEST_LENGTH];
  if (check->kind == LZMA_CHECK_SHA256) {
    (void)SHA256_Final(made, &check->sha256);
  } else {
    uint64_t crc = htole64(check->crc);
    memcpy(made, &crc, sizeof(crc));
  }
  return memcmp(made, said, lzma_check_size(check->kind)) == 0;
}

/* ---- saving ------------------------------------------------------------------------------------
 */

void
xz_check_save(const struct xz_check *check, struct buffer *body)
{
  if (check->kind != LZMA_CHECK_SHA256) {
    state_put_number(body, check->crc);
    return;
  }
  const SHA256_CTX *sha256 = &check->sha256;
  for (size_t i = 0; i < SHA256_DIGEST_LENGTH / sizeof(sha256->h[0]); i++)
    state_put_number(body, sha256->h[i]);
  state_put_number(body, (uint64_t)sha256->Nh << 32 | sha256->Nl);
  state_put_bytes(body, sha256->data, sha256->num);
}

void
xz_check_restore(struct xz_check *check, struct state_reader *reader)
{
  if (check->kind != LZMA_CHECK_SHA256) {
    check->crc = state_get_number(reader);
    return;
  }
  SHA256_CTX *sha256 = &check->sha256;
  size_t partial = 0;
  for (size_t i = 0; i < SHA256_DIGEST_LENGTH / sizeof(sha256->h[0]); i++)
    sha256->h[i] = (SHA_LONG)state_get_number_up_to(reader, UINT32_MAX);
  uint64_t bits = state_get_number(reader);
  const void *bytes = state_get_bytes(reader, SHA256_CBLOCK - 1, &partial);
  if (reader->failed)
    return;
  sha256->Nl = (SHA_LONG)bits;
  sha256->Nh = (SHA_LONG)(bits >> 32);
  memcpy(sha256->data, bytes, partial);
  sha256->num = (unsigned)partial;
}
