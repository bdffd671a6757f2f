/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/disk_handshake.h"

#include "populator/format/foreign/disk_protocol.h"
#include "populator/format/foreign/disk_socket.h"

/* No client needs more of either; one that does is not well. */
#define OPTIONS_MAX 64
#define OPTION_BYTES_MAX 8192

/* What is told of the size of requests: any, best in pages, no more than the protocol has. */
#define BLOCK_MINIMUM 1
#define BLOCK_PREFERRED 4096

static bool
greet(int fd)
{
  struct {
    uint64_t magic;
    uint64_t option_magic;
    uint16_t flags;
  } __attribute__((packed)) greeting = {
      .magic = htobe64(DISK_MAGIC),
      .option_magic = htobe64(DISK_OPTION_MAGIC),
      .flags = htobe16(DISK_FLAG_FIXED_NEWSTYLE | DISK_FLAG_NO_ZEROES),
  };
  return disk_socket_write(fd, &greeting, sizeof(greeting));
}

static bool
reply(int fd, uint32_t option, uint32_t kind, const void *data, size_t len)
{
  struct disk_option_reply header = {
      .magic = htobe64(DISK_REPLY_MAGIC),
      .option = htobe32(option),
      .reply = htobe32(kind),
      .len = htobe32((uint32_t)len),
  };
  return disk_socket_write(fd, &header, sizeof(header)) && disk_socket_write(fd, data, len);
}

/* One export, without a name. */
static bool
list_exports(int fd)
{
  uint32_t name_len = 0;
  return reply(fd, DISK_OPTION_LIST, DISK_REPLY_SERVER, &name_len, sizeof(name_len)) &&
         reply(fd, DISK_OPTION_LIST, DISK_REPLY_ACK, NULL, 0);
}

static bool
tell_export(int fd, uint32_t option, uint64_t size)
{
  struct {
    uint16_t kind;
    uint64_t size;
    uint16_t flags;
  } __attribute__((packed)) info = {
      .kind = htobe16(DISK_INFO_EXPORT),
      .size = htobe64(size),
      .flags = htobe16(DISK_EXPORT_FLAGS),
  };
  struct {
    uint16_t kind;
    uint32_t minimum;
    uint32_t preferred;
    uint32_t maximum;
  } __attribute__((packed)) blocks = {
      .kind = htobe16(DISK_INFO_BLOCK_SIZE),
      .minimum = htobe32(BLOCK_MINIMUM),
      .preferred = htobe32(BLOCK_PREFERRED),
      .maximum = htobe32(DISK_REQUEST_MAX),
  };
  return reply(fd, option, DISK_REPLY_INFO, &info, sizeof(info)) &&
         reply(fd, option, DISK_REPLY_INFO, &blocks, sizeof(blocks)) &&
         reply(fd, option, DISK_REPLY_ACK, NULL, 0);
}

/* Length of the name, the name, count of questions, the questions: all of it must add up. */
static bool
is_sound_info(const unsigned char *data, uint32_t len)
{
  uint32_t name_len;
  uint16_t count;
  if (len < sizeof(name_len) + sizeof(count))
    return false;
  memcpy(&name_len, data, sizeof(name_len));
  name_len = be32toh(name_len);
  if (name_len > len - sizeof(name_len) - sizeof(count))
    return false;
  memcpy(&count, data + sizeof(name_len) + name_len, sizeof(count));
  return len == sizeof(name_len) + name_len + sizeof(count) + sizeof(count) * be16toh(count);
}

/* The end of the negotiation in its old form: no header, and zeros unless both agreed otherwise. */
static bool
tell_old(int fd, uint64_t size, bool without_zeros)
{
  struct {
    uint64_t size;
    uint16_t flags;
    char zeros[124];
  } __attribute__((packed)) answer = {
      .size = htobe64(size),
      .flags = htobe16(DISK_EXPORT_FLAGS),
  };
  return disk_socket_write(fd, &answer, without_zeros ? 10 : sizeof(answer));
}

struct negotiation {
  int fd;
  uint64_t size;
  bool without_zeros;
  bool is_over;
  enum disk_handshake_result result;
};

static bool
finish(struct negotiation *negotiation, bool has_answered, enum disk_handshake_result result)
{
  negotiation->is_over = true;
  negotiation->result = result;
  return has_answered;
}

/* False when the connection is of no more use. */
static bool
on_option(struct negotiation *negotiation, uint32_t option, const unsigned char *data, uint32_t len)
{
  int fd = negotiation->fd;
  switch (option) {
  case DISK_OPTION_EXPORT_NAME:
    return finish(negotiation, tell_old(fd, negotiation->size, negotiation->without_zeros),
                  DISK_HANDSHAKE_SERVE);
  case DISK_OPTION_ABORT:
    (void)reply(fd, option, DISK_REPLY_ACK, NULL, 0); /* it need not wait for that */
    return finish(negotiation, true, DISK_HANDSHAKE_LEFT);
  case DISK_OPTION_LIST:
    return len == 0 ? list_exports(fd) : reply(fd, option, DISK_REPLY_INVALID, NULL, 0);
  case DISK_OPTION_INFO:
  case DISK_OPTION_GO:
    if (!is_sound_info(data, len))
      return reply(fd, option, DISK_REPLY_INVALID, NULL, 0);
    if (!tell_export(fd, option, negotiation->size))
      return false;
    return option == DISK_OPTION_GO ? finish(negotiation, true, DISK_HANDSHAKE_SERVE) : true;
  default:
    return reply(fd, option, DISK_REPLY_UNSUPPORTED, NULL, 0);
  }
}

static bool
next_option(struct negotiation *negotiation)
{
  struct disk_option_header header;
  unsigned char data[OPTION_BYTES_MAX];
  if (!disk_socket_read(negotiation->fd, &header, sizeof(header)) ||
      be64toh(header.magic) != DISK_OPTION_MAGIC)
    return false;
  uint32_t len = be32toh(header.len);
  if (len > sizeof(data) || !disk_socket_read(negotiation->fd, data, len))
    return false;
  return on_option(negotiation, be32toh(header.option), data, len);
}

enum disk_handshake_result
disk_handshake(int fd, uint64_t size, bool (*heard)(void *context), void *context)
{
  uint32_t flags;
  if (!greet(fd) || !disk_socket_read(fd, &flags, sizeof(flags)))
    return DISK_HANDSHAKE_BROKEN;
  flags = be32toh(flags);
  if ((flags & ~(uint32_t)(DISK_FLAG_FIXED_NEWSTYLE | DISK_FLAG_NO_ZEROES)) != 0)
    return DISK_HANDSHAKE_BROKEN;
  if (heard && !heard(context))
    return DISK_HANDSHAKE_BROKEN;
  struct negotiation negotiation = {
      .fd = fd, .size = size, .without_zeros = (flags & DISK_FLAG_NO_ZEROES) != 0};
  for (unsigned i = 0; i < OPTIONS_MAX && !negotiation.is_over; i++) {
    if (!next_option(&negotiation))
      return DISK_HANDSHAKE_BROKEN;
  }
  return negotiation.is_over ? negotiation.result : DISK_HANDSHAKE_BROKEN;
}
