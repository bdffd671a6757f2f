/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/nbd_netlink.h"

#include <linux/genetlink.h>
#include <linux/nbd-netlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "nodeplugin/sys_call.h"

#define WAIT_SECONDS 10
/* Room for a message of ours, and for an answer. */
#define MESSAGE_MAX 4096
/* Younger than Debian's headers. */
#define ATTR_BACKEND_IDENTIFIER 10

/* A generic netlink message being written. */
struct message {
  union {
    struct nlmsghdr header;
    char bytes[MESSAGE_MAX];
  };
};

static void
begin(struct message *message, uint16_t family, uint8_t command, uint8_t version)
{
  memset(message, 0, sizeof(*message));
  struct genlmsghdr generic = {.cmd = command, .version = version};
  message->header.nlmsg_type = family;
  message->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  message->header.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
  memcpy(message->bytes + NLMSG_HDRLEN, &generic, sizeof(generic));
}

/* data is short: its callers' constants and cookies. */
static void
add(struct message *message, uint16_t type, const void *data, uint16_t len)
{
  size_t at = NLMSG_ALIGN(message->header.nlmsg_len);
  struct nlattr attribute = {.nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + len)};
  memcpy(message->bytes + at, &attribute, sizeof(attribute));
  memcpy(message->bytes + at + NLA_HDRLEN, data, len);
  message->header.nlmsg_len = (uint32_t)(at + NLA_ALIGN(attribute.nla_len));
}

/* Sends it and takes the next answer in its place; 0 or an errno. */
static int
ask(int fd, struct message *message)
{
  if (SYS_CALL(send(fd, message->bytes, message->header.nlmsg_len, 0)) < 0)
    return errno;
  ssize_t len = recv(fd, message->bytes, sizeof(message->bytes), 0);
  if (len < (ssize_t)NLMSG_HDRLEN)
    return len < 0 ? errno : EPROTO;
  if (message->header.nlmsg_type != NLMSG_ERROR)
    return 0;
  struct nlmsgerr failure;
  if (len < (ssize_t)(NLMSG_HDRLEN + sizeof(failure)))
    return EPROTO;
  memcpy(&failure, message->bytes + NLMSG_HDRLEN, sizeof(failure));
  return -failure.error;
}

/* The number that the kernel has given to the family "nbd"; 0 when it has none. */
static uint16_t
find_family(int fd)
{
  struct message message;
  begin(&message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
  message.header.nlmsg_flags = NLM_F_REQUEST;
  add(&message, CTRL_ATTR_FAMILY_NAME, NBD_GENL_FAMILY_NAME, sizeof(NBD_GENL_FAMILY_NAME));
  if (ask(fd, &message) != 0)
    return 0;
  size_t end = message.header.nlmsg_len < MESSAGE_MAX ? message.header.nlmsg_len : MESSAGE_MAX;
  for (size_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN <= end;) {
    struct nlattr attribute;
    uint16_t family;
    memcpy(&attribute, message.bytes + at, sizeof(attribute));
    if (attribute.nla_len < NLA_HDRLEN)
      return 0;
    if (attribute.nla_type == CTRL_ATTR_FAMILY_ID && at + NLA_HDRLEN + sizeof(family) <= end) {
      memcpy(&family, message.bytes + at + NLA_HDRLEN, sizeof(family));
      return family;
    }
    at += NLA_ALIGN(attribute.nla_len);
  }
  return 0;
}

int
nbd_netlink_resize(uint32_t index, const char *cookie, uint64_t size_bytes, struct error **err)
{
  CLEANUP(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
  const struct timeval limit = {.tv_sec = WAIT_SECONDS};
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
    return error_set_errno(err, errno, "talk to the kernel's nbd driver");
  uint16_t family = find_family(fd);
  if (family == 0)
    return error_set(err, ERROR_FAILED_PRECONDITION, "the kernel's nbd driver has no netlink");
  struct message message;
  begin(&message, family, NBD_CMD_RECONFIGURE, NBD_GENL_VERSION);
  add(&message, NBD_ATTR_INDEX, &index, sizeof(index));
  add(&message, NBD_ATTR_SIZE_BYTES, &size_bytes, sizeof(size_bytes));
  add(&message, ATTR_BACKEND_IDENTIFIER, cookie, (uint16_t)(strlen(cookie) + 1));
  int cause = ask(fd, &message);
  return cause ? error_set_errno(err, cause, "tell '/dev/nbd%u' its new size", index) : 0;
}
