/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/alone_note.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/note_file.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/sysfs.h"

#define TAKEN "taken"

static char *
path_of(const struct mapper_env *env, const struct volume_id *id)
{
  return xasprintf("%s/alone.%s", env->run_dir, id->image_id);
}

/* "WRITTEN CLIENT… [taken]"; what is cut short is as good as nobody: nothing is taken for ours. */
static void
parse(char *text, struct alone_note *note)
{
  char *rest = NULL;
  bool is_first = true;
  for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    uint64_t number;
    if (strcmp(word, TAKEN) == 0)
      note->is_taken = true;
    else if (text_to_u64(word, 10, &number) == 0 && is_first)
      note->written = number;
    else if (text_to_u64(word, 10, &number) == 0)
      alone_note_add(note, number);
    is_first = false;
  }
}

bool
alone_note_read(const struct mapper_env *env, const struct volume_id *id,
                struct alone_note *ret_note)
{
  CLEANUP(freep) char *name = xasprintf("alone.%s", id->image_id);
  CLEANUP(freep) char *text = sysfs_read(env->run_dir, name);
  if (!text)
    return false;
  *ret_note = (struct alone_note){0};
  parse(text, ret_note);
  return true;
}

int
alone_note_write(const struct mapper_env *env, const struct volume_id *id,
                 const struct alone_note *note, struct error **err)
{
  CLEANUP(freep) char *path = path_of(env, id);
  char *text = xasprintf("%llu", (unsigned long long)note->written);
  for (size_t i = 0; i < note->client_count; i++) {
    char *longer = xasprintf("%s %llu", text, (unsigned long long)note->clients[i]);
    free(text);
    text = longer;
  }
  CLEANUP(freep) char *whole = xasprintf("%s%s", text, note->is_taken ? " " TAKEN : "");
  free(text);
  if (note_file_write(path, whole) < 0)
    return error_set_errno(err, errno, "note the volume's client in '%s'", path);
  return 0;
}

void
alone_note_remove(const struct mapper_env *env, const struct volume_id *id)
{
  CLEANUP(freep) char *path = path_of(env, id);
  note_file_drop_half(path);
  if (access(path, F_OK) == 0)
    (void)SYS_CALL(unlink(path));
}

bool
alone_note_has(const struct alone_note *note, uint64_t client)
{
  for (size_t i = 0; i < note->client_count; i++) {
    if (note->clients[i] == client)
      return true;
  }
  return false;
}

void
alone_note_add(struct alone_note *note, uint64_t client)
{
  if (client == 0 || alone_note_has(note, client))
    return;
  if (note->client_count == ALONE_NOTE_CLIENTS_MAX)
    memmove(note->clients, note->clients + 1, --note->client_count * sizeof(note->clients[0]));
  note->clients[note->client_count++] = client;
}
