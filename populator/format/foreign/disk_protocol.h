/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the NBD protocol that a server which only reads needs, and its byte order. */
#ifndef POPULATOR_FORMAT_FOREIGN_DISK_PROTOCOL_H
#define POPULATOR_FORMAT_FOREIGN_DISK_PROTOCOL_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* The greeting, and in front of each option. */
#define DISK_MAGIC 0x4e42444d41474943ULL        /* "NBDMAGIC" */
#define DISK_OPTION_MAGIC 0x49484156454f5054ULL /* "IHAVEOPT" */
#define DISK_REPLY_MAGIC 0x0003e889045565a9ULL

enum { DISK_FLAG_FIXED_NEWSTYLE = 1, DISK_FLAG_NO_ZEROES = 2 };

enum disk_option {
  DISK_OPTION_EXPORT_NAME = 1,
  DISK_OPTION_ABORT = 2,
  DISK_OPTION_LIST = 3,
  DISK_OPTION_INFO = 6,
  DISK_OPTION_GO = 7,
};

#define DISK_REPLY_ACK 1U
#define DISK_REPLY_SERVER 2U
#define DISK_REPLY_INFO 3U
#define DISK_REPLY_UNSUPPORTED 0x80000001U
#define DISK_REPLY_INVALID 0x80000003U
#define DISK_REPLY_UNKNOWN 0x80000006U
#define DISK_REPLY_TOO_BIG 0x80000009U

enum { DISK_INFO_EXPORT = 0, DISK_INFO_BLOCK_SIZE = 3 };

/* Of an export: it has flags; it is read-only; several connections see the same. */
#define DISK_EXPORT_FLAGS (1U | 2U | 256U)

#define DISK_REQUEST_MAGIC 0x25609513U
#define DISK_SIMPLE_REPLY_MAGIC 0x67446698U

enum disk_command { DISK_READ = 0, DISK_WRITE = 1, DISK_DISCONNECT = 2 };

/* What a client may ask for at most, told or not. */
#define DISK_REQUEST_MAX ((uint32_t)32 << 20)

/* Error numbers on the wire. */
enum { DISK_EPERM = 1, DISK_EIO = 5, DISK_EINVAL = 22 };

struct disk_request {
  uint32_t magic;
  uint16_t flags;
  uint16_t command;
  uint64_t cookie;
  uint64_t offset;
  uint32_t len;
} __attribute__((packed));

struct disk_reply {
  uint32_t magic;
  uint32_t error;
  uint64_t cookie;
} __attribute__((packed));

struct disk_option_header {
  uint64_t magic;
  uint32_t option;
  uint32_t len;
} __attribute__((packed));

struct disk_option_reply {
  uint64_t magic;
  uint32_t option;
  uint32_t reply;
  uint32_t len;
} __attribute__((packed));

#endif
