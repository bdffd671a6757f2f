/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/digest.h"

#include <openssl/sha.h>
#include <stdio.h>

void
digest_sha256_hex(const void *data, size_t len, char ret_hex[DIGEST_SHA256_HEX])
{
  unsigned char hash[SHA256_DIGEST_LENGTH];
  (void)SHA256(data, len, hash);
  for (size_t i = 0; i < sizeof(hash); i++)
    (void)snprintf(ret_hex + 2 * i, 3, "%02x", hash[i]);
}
