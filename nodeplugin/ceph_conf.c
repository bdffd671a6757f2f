/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/ceph_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"

/* No ceph.conf has more. */
#define FILE_MAX_BYTES ((size_t)1 << 20)

/* What the cluster's own file says comes first; ours, in the section of the user, wins. */
static int
append_file(struct buffer *text, const char *path, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  char part[4096];
  ssize_t got = -1;
  while (fd >= 0 && (got = read(fd, part, sizeof(part))) > 0) {
    if (!buffer_append(text, part, (size_t)got))
      return error_set(err, ERROR_FAILED_PRECONDITION, "confFile '%s' is larger than 1 MiB", path);
  }
  if (fd < 0 || got < 0)
    return error_set_errno(err, errno, "read confFile '%s'", path);
  return 0;
}

static void
append_setting(struct buffer *text, const char *name, const char *value)
{
  if (!value)
    return;
  CLEANUP(freep) char *line = xasprintf("%s = %s\n", name, value);
  (void)buffer_append_text(text, line);
}

static int
write_text(const char *path, const struct buffer *text, struct error **err)
{
  /* Calls side by side write the same: each its own file, the last one stays. */
  CLEANUP(freep) char *part = xasprintf("%s.%d", path, (int)syscall(SYS_gettid));
  CLEANUP(closep) int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, text->data, text->len) != (ssize_t)text->len || rename(part, path) < 0)
    return error_set_errno(err, errno, "write '%s'", path);
  return 0;
}

int
ceph_conf_write(const char *run_dir, const struct cluster_config *config, char **ret_path,
                struct error **err)
{
  struct buffer text = {.limit = FILE_MAX_BYTES};
  CLEANUP(freep) char *path = xasprintf("%s/%s.conf", run_dir, config->cluster_id);
  CLEANUP(freep) char *section = xasprintf("\n[client.%s]\n", config->user);
  int r = config->conf_file ? append_file(&text, config->conf_file, err) : 0;
  if (r == 0) {
    (void)buffer_append_text(&text, section);
    append_setting(&text, "mon_host", config->monitors);
    append_setting(&text, "keyfile", config->key_file);
    append_setting(&text, "keyring", config->keyring);
    /* helpers are many: no socket and no file of each */
    append_setting(&text, "admin_socket", "");
    append_setting(&text, "log_file", "");
    append_setting(&text, "run_dir", run_dir); /* rbd-nbd dies where the usual one is missing */
    r = write_text(path, &text, err);
  }
  buffer_clear(&text);
  if (r == 0)
    *ret_path = TAKE(path);
  return r;
}
