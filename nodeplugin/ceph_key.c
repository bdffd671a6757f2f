/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/ceph_key.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define FILE_MAX_BYTES ((size_t)65536)
/* A key has 28 bytes with its header. */
#define KEY_MAX_BYTES 256

static const char blanks[] = " \t\r\n";

/* One line of a keyring without the blanks around it. */
static const char *
trim(const char *line, size_t *len)
{
  size_t skip = strspn(line, blanks);
  skip = skip < *len ? skip : *len;
  line += skip;
  *len -= skip;
  while (*len > 0 && strchr(blanks, line[*len - 1]))
    (*len)--;
  return line;
}

/* "key = AQB…": what is behind the equals sign. */
static const char *
key_of_line(const char *line, size_t *len)
{
  if (*len < 4 || strncmp(line, "key", 3) != 0)
    return NULL;
  const char *equals = memchr(line, '=', *len);
  size_t between = equals ? (size_t)(equals - line) - 3 : 0;
  if (!equals || strspn(line + 3, blanks) != between)
    return NULL;
  *len -= (size_t)(equals + 1 - line);
  return trim(equals + 1, len);
}

const char *
ceph_key_find(const char *keyring, const char *user, size_t *ret_len)
{
  CLEANUP(freep) char *section = xasprintf("[client.%s]", user);
  bool is_ours = false;
  while (*keyring) {
    size_t line_len = strcspn(keyring, "\n"), len = line_len;
    const char *line = trim(keyring, &len);
    if (len > 0 && line[0] == '[')
      is_ours = len == strlen(section) && strncmp(line, section, len) == 0;
    const char *key = is_ours ? key_of_line(line, &len) : NULL;
    if (key && len > 0) {
      *ret_len = len;
      return key;
    }
    keyring += line_len + (keyring[line_len] == '\n');
  }
  return NULL;
}

static int
digit_of(char c)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = c ? strchr(digits, c) : NULL;
  return at ? (int)(at - digits) : -1;
}

int
ceph_key_decode(const char *text, size_t len, uint8_t *buf, size_t room, size_t *ret_len)
{
  if (len == 0 || len % 4 != 0)
    return -1;
  size_t padding = text[len - 1] == '=' ? text[len - 2] == '=' ? 2 : 1 : 0;
  size_t bytes = len / 4 * 3 - padding, out = 0;
  if (bytes > room)
    return -1;
  uint32_t bits = 0;
  for (size_t i = 0; i < len; i++) {
    int digit = i >= len - padding ? 0 : digit_of(text[i]);
    if (digit < 0)
      return -1;
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4 != 3)
      continue;
    for (int shift = 16; shift >= 0; shift -= 8) {
      if (out < bytes)
        buf[out++] = (uint8_t)(bits >> shift);
    }
    bits = 0;
  }
  *ret_len = bytes;
  return 0;
}

/* The whole file, into a buffer that the caller wipes. */
static int
read_file(const char *path, char *text, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t len = 0;
  ssize_t got = -1;
  while (fd >= 0 && len < FILE_MAX_BYTES && (got = read(fd, text + len, FILE_MAX_BYTES - len)) > 0)
    len += (size_t)got;
  if (fd < 0 || got < 0)
    return error_set_errno(err, errno, "read '%s'", path);
  text[len] = '\0';
  return 0;
}

static int
add_to_kernel(const uint8_t *bytes, size_t len, struct ceph_key *key, struct error **err)
{
  static atomic_uint counter;
  (void)snprintf(key->name, sizeof(key->name), "imprint-node.%d.%u", (int)getpid(),
                 atomic_fetch_add(&counter, 1));
  long serial = syscall(SYS_add_key, "ceph", key->name, bytes, len, KEY_SPEC_PROCESS_KEYRING);
  if (serial < 0)
    return error_set_errno(err, errno, "hand the Ceph key to the kernel");
  key->serial = (int32_t)serial;
  return 0;
}

static int
load(const char *path, const struct cluster_config *config, char *text, struct ceph_key *key,
     struct error **err)
{
  if (read_file(path, text, err) < 0)
    return -1;
  size_t len = strlen(text);
  const char *found = config->key_file ? trim(text, &len) : ceph_key_find(text, config->user, &len);
  uint8_t bytes[KEY_MAX_BYTES];
  size_t bytes_len;
  if (!found || ceph_key_decode(found, len, bytes, sizeof(bytes), &bytes_len) < 0)
    return error_set(err, ERROR_FAILED_PRECONDITION, "'%s' holds no key of client.%s", path,
                     config->user);
  int r = add_to_kernel(bytes, bytes_len, key, err);
  explicit_bzero(bytes, sizeof(bytes));
  return r;
}

int
ceph_key_load(const struct cluster_config *config, struct ceph_key *ret_key, struct error **err)
{
  const char *path = config->key_file ? config->key_file : config->keyring;
  CLEANUP(freep) char *usual = xasprintf("/etc/ceph/ceph.client.%s.keyring", config->user);
  char *text = xcalloc(FILE_MAX_BYTES + 1, 1);
  struct ceph_key key = {0};
  int r = load(path ? path : usual, config, text, &key, err);
  explicit_bzero(text, FILE_MAX_BYTES);
  free(text);
  if (r == 0)
    *ret_key = key;
  return r;
}

void
ceph_key_unload(struct ceph_key *key)
{
  (void)syscall(SYS_keyctl, KEYCTL_UNLINK, key->serial, KEY_SPEC_PROCESS_KEYRING);
  *key = (struct ceph_key){0};
}
