/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* A node with thousands of pods has some megabytes of it. */
#define TABLE_MAX_BYTES ((size_t)64 << 20)

/* The next field of a line, which ends at a blank or the line's end; false when there is none.
 * *at moves behind it. */
static bool
next_field(const char **at, const char *end, const char **ret_field, size_t *ret_len)
{
  const char *p = *at;
  while (p < end && *p == ' ')
    p++;
  if (p == end)
    return false;
  const char *stop = memchr(p, ' ', (size_t)(end - p));
  if (!stop)
    stop = end;
  *ret_field = p;
  *ret_len = (size_t)(stop - p);
  *at = stop;
  return true;
}

static bool
is_octal(char c)
{
  return c >= '0' && c <= '7';
}

/* The kernel writes blanks, newlines, tabs and backslashes as \ooo. To be freed. */
static char *
unescape(const char *field, size_t len)
{
  char *text = xcalloc(len + 1, 1);
  size_t out = 0;
  for (size_t i = 0; i < len; i++) {
    if (field[i] == '\\' && len - i > 3 && field[i + 1] <= '3' && is_octal(field[i + 1]) &&
        is_octal(field[i + 2]) && is_octal(field[i + 3])) {
      text[out++] =
          (char)(((field[i + 1] - '0') << 6) | ((field[i + 2] - '0') << 3) | (field[i + 3] - '0'));
      i += 3;
    } else {
      text[out++] = field[i];
    }
  }
  return text;
}

/* "8:1" */
static int
parse_device(const char *field, size_t len, dev_t *ret_device)
{
  CLEANUP(freep) char *text = xstrndup(field, len);
  char *colon = strchr(text, ':');
  uint64_t major_number, minor_number;
  if (!colon)
    return -1;
  *colon = '\0';
  if (text_to_u64(text, 10, &major_number) < 0 || text_to_u64(colon + 1, 10, &minor_number) < 0 ||
      major_number > UINT32_MAX || minor_number > UINT32_MAX)
    return -1;
  *ret_device = makedev((unsigned)major_number, (unsigned)minor_number);
  return 0;
}

/* Whether an option is among those with commas between them. */
static bool
has_option(const char *field, size_t len, const char *name)
{
  const char *end = field + len;
  while (field < end) {
    const char *comma = memchr(field, ',', (size_t)(end - field));
    size_t part = (size_t)((comma ? comma : end) - field);
    if (part == strlen(name) && memcmp(field, name, part) == 0)
      return true;
    field += part + 1;
  }
  return false;
}

static uint64_t
attributes_of(const char *field, size_t len)
{
  return (has_option(field, len, "nosuid") ? MOUNT_ATTR_NOSUID : 0) |
         (has_option(field, len, "nodev") ? MOUNT_ATTR_NODEV : 0) |
         (has_option(field, len, "noexec") ? MOUNT_ATTR_NOEXEC : 0);
}

static void
entry_clear(struct mount_entry *entry)
{
  free(entry->root);
  free(entry->mount_point);
  free(entry->type);
  free(entry->source);
  *entry = (struct mount_entry){0};
}

/* "36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue" */
static int
parse_line(const char *line, const char *end, struct mount_entry *entry)
{
  const char *field[6];
  size_t len[6];
  for (int i = 0; i < 6; i++) {
    if (!next_field(&line, end, &field[i], &len[i]))
      return -1;
  }
  if (parse_device(field[2], len[2], &entry->device) < 0)
    return -1;
  entry->root = unescape(field[3], len[3]);
  entry->mount_point = unescape(field[4], len[4]);
  entry->is_read_only = has_option(field[5], len[5], "ro");
  entry->attributes = attributes_of(field[5], len[5]);
  do { /* optional fields, up to a lone dash */
    if (!next_field(&line, end, &field[0], &len[0]))
      return -1;
  } while (len[0] != 1 || field[0][0] != '-');
  if (!next_field(&line, end, &field[0], &len[0]) || !next_field(&line, end, &field[1], &len[1]))
    return -1;
  entry->type = unescape(field[0], len[0]);
  entry->source = unescape(field[1], len[1]);
  /* a source may be empty, and is then the next field in disguise */
  entry->is_super_read_only =
      next_field(&line, end, &field[2], &len[2]) && has_option(field[2], len[2], "ro");
  return 0;
}

int
mount_table_parse(const char *text, struct mount_table *ret_table, struct error **err)
{
  struct mount_table table = {0};
  size_t room = 0;
  while (*text) {
    const char *end = strchrnul(text, '\n');
    struct mount_entry entry = {0};
    if (parse_line(text, end, &entry) < 0) {
      entry_clear(&entry);
      mount_table_clear(&table);
      return error_set(err, ERROR_INTERNAL, "'%.*s' is not a line of a mount table",
                       end - text > 128 ? 128 : (int)(end - text), text);
    }
    if (table.count == room) {
      room = room ? room * 2 : 64;
      table.entries = xrealloc(table.entries, room, sizeof(table.entries[0]));
    }
    table.entries[table.count++] = entry;
    text = *end ? end + 1 : end;
  }
  *ret_table = table;
  return 0;
}

int
mount_table_read(struct mount_table *ret_table, struct error **err)
{
  CLEANUP(closep) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "open /proc/self/mountinfo");
  struct buffer text = {.limit = TABLE_MAX_BYTES};
  char part[16384];
  ssize_t got;
  while ((got = read(fd, part, sizeof(part))) > 0) {
    if (!buffer_append(&text, part, (size_t)got))
      break;
  }
  int r = got != 0 ? error_set_errno(err, got < 0 ? errno : EFBIG, "read /proc/self/mountinfo")
                   : mount_table_parse(text.data ? text.data : "", ret_table, err);
  buffer_clear(&text);
  return r;
}

void
mount_table_clear(struct mount_table *table)
{
  for (size_t i = 0; i < table->count; i++)
    entry_clear(&table->entries[i]);
  free(table->entries);
  *table = (struct mount_table){0};
}

const struct mount_entry *
mount_table_at(const struct mount_table *table, const char *path)
{
  for (size_t i = table->count; i > 0; i--) {
    if (strcmp(table->entries[i - 1].mount_point, path) == 0)
      return &table->entries[i - 1];
  }
  return NULL;
}

const struct mount_entry *
mount_table_of_device(const struct mount_table *table, dev_t device, const char *except)
{
  for (size_t i = 0; i < table->count; i++) {
    const struct mount_entry *entry = &table->entries[i];
    if (entry->device == device && (!except || strcmp(entry->mount_point, except) != 0))
      return entry;
  }
  return NULL;
}

bool
mount_entry_is_node(const struct mount_entry *entry, dev_t *ret_number)
{
  struct stat now;
  *ret_number = 0;
  if (strcmp(entry->type, "devtmpfs") == 0)
    return true;
  if (strcmp(entry->type, "tmpfs") != 0 || lstat(entry->mount_point, &now) < 0 ||
      !S_ISBLK(now.st_mode))
    return false;
  *ret_number = now.st_rdev;
  return true;
}

static bool
is_node_of(const struct mount_entry *entry, const char *name, dev_t number)
{
  dev_t found;
  return mount_entry_is_node(entry, &found) &&
         (found ? found == number : strcmp(entry->root, name) == 0);
}

const struct mount_entry *
mount_table_of_node(const struct mount_table *table, const char *device,
                    const struct mount_entry *behind)
{
  const char *name = strrchr(device, '/');
  struct stat now;
  dev_t number = lstat(device, &now) == 0 && S_ISBLK(now.st_mode) ? now.st_rdev : 0;
  for (size_t i = behind ? (size_t)(behind - table->entries) + 1 : 0; i < table->count; i++) {
    const struct mount_entry *entry = &table->entries[i];
    if (is_node_of(entry, name, number))
      return entry;
  }
  return NULL;
}
