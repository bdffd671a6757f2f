/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers out of bytes that need not be aligned, in the order that a format prescribes. */
#ifndef POPULATOR_FORMAT_BYTES_H
#define POPULATOR_FORMAT_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t
bytes_le16(const void *p)
{
  uint16_t value;
  memcpy(&value, p, sizeof(value));
  return le16toh(value);
}

static inline uint32_t
bytes_le32(const void *p)
{
  uint32_t value;
  memcpy(&value, p, sizeof(value));
  return le32toh(value);
}

static inline uint64_t
bytes_le64(const void *p)
{
  uint64_t value;
  memcpy(&value, p, sizeof(value));
  return le64toh(value);
}

static inline uint32_t
bytes_be32(const void *p)
{
  uint32_t value;
  memcpy(&value, p, sizeof(value));
  return be32toh(value);
}

static inline uint64_t
bytes_be64(const void *p)
{
  uint64_t value;
  memcpy(&value, p, sizeof(value));
  return be64toh(value);
}

static inline void
bytes_put_le32(void *p, uint32_t value)
{
  value = htole32(value);
  memcpy(p, &value, sizeof(value));
}

static inline void
bytes_put_be32(void *p, uint32_t value)
{
  value = htobe32(value);
  memcpy(p, &value, sizeof(value));
}

static inline void
bytes_put_le64(void *p, uint64_t value)
{
  value = htole64(value);
  memcpy(p, &value, sizeof(value));
}

static inline void
bytes_put_be64(void *p, uint64_t value)
{
  value = htobe64(value);
  memcpy(p, &value, sizeof(value));
}

#endif
