/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/process_words.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* Helpers of ours have less; what is behind that is not looked at. */
#define COMMAND_MAX 4096

char *
process_words_find(const char *pid, const char *prefix)
{
  CLEANUP(freep) char *path = xasprintf("/proc/%s/cmdline", pid);
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  char words[COMMAND_MAX];
  ssize_t len = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
  words[len > 0 ? len : 0] = '\0';
  for (const char *word = words; len > 0 && word < words + len; word += strlen(word) + 1) {
    if (text_starts_with(word, prefix))
      return xstrdup(word);
  }
  return NULL;
}

bool
process_words_has(const char *pid, const char *word)
{
  CLEANUP(freep) char *found = process_words_find(pid, word);
  return found && strcmp(found, word) == 0;
}
