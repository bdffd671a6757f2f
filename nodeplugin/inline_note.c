/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/inline_note.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "nodeplugin/note_file.h"
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

int
inline_note_write(const struct node *node, const char *kubelet_id, const struct volume_id *id,
                  struct error **err)
{
  CLEANUP(freep) char *name = name_of(kubelet_id);
  CLEANUP(freep) char *path = xasprintf("%s/%s", node->env.run_dir, name);
  CLEANUP(freep) char *text = volume_id_encode(id);
  if (note_file_write(path, text) < 0)
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
