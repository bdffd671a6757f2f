/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define LABEL_PREFIX "topology."
#define FILE_MAX_BYTES ((size_t)65536)
/* CSI's limits: a prefix of 63 bytes, a name of 63, a value of 63. */
#define PART_MAX 63

bool
topology_is_label(const char *key)
{
  return text_starts_with(key, LABEL_PREFIX);
}

bool
topology_is_key(const char *key)
{
  const char *slash = strchr(key, '/');
  if (!slash)
    return text_is_plain_name(key, PART_MAX);
  CLEANUP(freep) char *prefix = xstrndup(key, (size_t)(slash - key));
  return text_is_plain_name(prefix, PART_MAX) && text_is_plain_name(slash + 1, PART_MAX);
}

int
topology_add_segment(struct string_map *topology, const char *key, const char *value,
                     struct error **err)
{
  if (!topology_is_key(key) || (*value && !text_is_plain_name(value, PART_MAX)))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.128s=%.64s' is not KEY=VALUE as CSI has it",
                     key, value);
  string_map_set(topology, key, value);
  return 0;
}

int
topology_add(struct string_map *topology, const char *text, struct error **err)
{
  const char *equals = strchr(text, '=');
  if (!equals)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.128s' is not KEY=VALUE", text);
  CLEANUP(freep) char *key = xstrndup(text, (size_t)(equals - text));
  return topology_add_segment(topology, key, equals + 1, err);
}

int
topology_add_labels(struct string_map *topology, const char *text, struct error **err)
{
  while (*text) {
    size_t len = strcspn(text, "\n");
    CLEANUP(freep) char *line = xstrndup(text, len);
    text += len + (text[len] == '\n');
    if (!topology_is_label(line))
      continue;
    char *value = strstr(line, "=\"");
    size_t end = strlen(line);
    if (!value || end < 3 || line[end - 1] != '"' || value + 2 > line + end - 1)
      return error_set(err, ERROR_INVALID_ARGUMENT, "'%.128s' is not KEY=\"VALUE\"", line);
    line[end - 1] = '\0';
    *value = '\0';
    if (topology_add_segment(topology, line, value + 2, err) < 0)
      return -1;
  }
  return 0;
}

int
topology_read_file(struct string_map *topology, const char *path, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  CLEANUP(freep) char *text = xcalloc(FILE_MAX_BYTES + 1, 1);
  size_t len = 0;
  ssize_t got = -1;
  while (fd >= 0 && len < FILE_MAX_BYTES && (got = read(fd, text + len, FILE_MAX_BYTES - len)) > 0)
    len += (size_t)got;
  if (fd < 0 || got < 0)
    return error_set_errno(err, errno, "read '%s'", path);
  if (topology_add_labels(topology, text, err) < 0)
    return error_wrap(err, "'%s'", path);
  return 0;
}
