/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/process_words.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
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
process_words_has(pid_t pid, const char *word)
{
  CLEANUP(freep) char *text = xasprintf("%d", (int)pid);
  CLEANUP(freep) char *found = process_words_find(text, word);
  return found && strcmp(found, word) == 0;
}

pid_t
process_words_search(const char *word, pid_t after)
{
  DIR *processes = opendir("/proc");
  pid_t found = 0;
  for (const struct dirent *entry; processes && (entry = readdir(processes));) {
    uint64_t pid;
    if (text_to_u64(entry->d_name, 10, &pid) == 0 && (pid_t)pid > after &&
        (found == 0 || (pid_t)pid < found) && process_words_has((pid_t)pid, word))
      found = (pid_t)pid;
  }
  if (processes)
    (void)closedir(processes);
  return found;
}
