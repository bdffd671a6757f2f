/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIB_BASE_DIGEST_H
#define LIB_BASE_DIGEST_H

#include <stddef.h>

/* Lower-case hexadecimal and a NUL. */
#define DIGEST_SHA256_HEX 65

void digest_sha256_hex(const void *data, size_t len, char ret_hex[DIGEST_SHA256_HEX]);

#endif
