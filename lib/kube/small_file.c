/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/small_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"

int
small_file_read(const char *path, char **ret_text, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "open '%s'", path);
  struct buffer text = {.limit = SMALL_FILE_MAX_BYTES};
  char chunk[16384];
  ssize_t got;
  while ((got = read(fd, chunk, sizeof(chunk))) > 0) {
    if (!buffer_append(&text, chunk, (size_t)got)) {
      buffer_clear(&text);
      return error_set(err, ERROR_OUT_OF_RANGE, "'%s' is larger than %d bytes", path,
                       SMALL_FILE_MAX_BYTES);
    }
  }
  if (got < 0) {
    buffer_clear(&text);
    return error_set_errno(err, errno, "read '%s'", path);
  }
  *ret_text = text.data ? text.data : xstrdup("");
  return 0;
}

int
small_file_read_line(const char *path, char **ret_text, struct error **err)
{
  if (small_file_read(path, ret_text, err) < 0)
    return -1;
  size_t len = strlen(*ret_text);
  while (len > 0 && isspace((unsigned char)(*ret_text)[len - 1]))
    (*ret_text)[--len] = '\0';
  return 0;
}
