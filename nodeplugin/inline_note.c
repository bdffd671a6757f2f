/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/inline_note.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/sysfs.h"

/* kubelet's ids are long, and may be anything. */
static char *
name_of(const char *kubelet_id)
{
  char hash[DIGEST_SHA256_HEX];
  digest_sha256_hex(kubelet_id, strlen(kubelet_id), hash);
  return xasprintf("inline.%.32s", hash);
}

static int
write_file(const char *path, const char *text)
{
  CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return -1;
  return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

int
inline_note_write(const struct node *node, const char *kubelet_id, const struct volume_id *id,
                  struct error **err)
{
  CLEANUP(freep) char *name = name_of(kubelet_id);
  CLEANUP(freep) char *path = xasprintf("%s/%s", node->env.run_dir, name);
  CLEANUP(freep) char *half = xasprintf("%s.half", path);
  CLEANUP(freep) char *text = volume_id_encode(id);
  if (SYS_CALL(write_file(half, text)) < 0 || SYS_CALL(rename(half, path)) < 0)
    return error_set_errno(err, errno, "note the volume in '%s'", path);
  return 0;
}

bool
inline_note_read(const struct node *node, const char *kubelet_id, struct volume_id *ret_id)
{
  CLEANUP(freep) char *name = name_of(kubelet_id);
  CLEANUP(freep) char *text = sysfs_read(node->env.run_dir, name);
  return text && volume_id_decode(text, ret_id, NULL) == 0;
}

void
inline_note_remove(const struct node *node, const char *kubelet_id)
{
  CLEANUP(freep) char *name = name_of(kubelet_id);
  CLEANUP(freep) char *path = xasprintf("%s/%s", node->env.run_dir, name);
  (void)SYS_CALL(unlink(path));
}
