/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/process_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* utime and stime, counted from the first field behind the command name. */
#define STAT_UTIME 11
#define STAT_STIME 12

static void
filep(FILE **file)
{
  if (*file)
    (void)fclose(*file);
}

static FILE *
open_proc(pid_t pid, const char *name)
{
  CLEANUP(freep) char *path = xasprintf("/proc/%d/%s", (int)pid, name);
  return fopen(path, "re");
}

static int
read_status(pid_t pid, struct process_use *use)
{
  CLEANUP(filep) FILE *file = open_proc(pid, "status");
  if (!file)
    return -1;
  const struct {
    const char *key;
    uint64_t *value;
  } fields[] = {
      {"VmRSS:", &use->rss_kib}, {"RssAnon:", &use->anon_kib}, {"Threads:", &use->threads}};
  char line[256];
  while (fgets(line, sizeof(line), file)) {
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
      if (text_starts_with(line, fields[i].key))
        *fields[i].value = strtoull(line + strlen(fields[i].key), NULL, 10);
    }
  }
  return 0;
}

static int
read_cpu(pid_t pid, struct process_use *use)
{
  CLEANUP(filep) FILE *file = open_proc(pid, "stat");
  char line[1024];
  if (!file || !fgets(line, sizeof(line), file))
    return -1;
  char *at = strrchr(line, ')'); /* the command name may hold anything */
  if (!at)
    return -1;
  uint64_t ticks = 0;
  char *rest = at + 1;
  for (int field = 0; field <= STAT_STIME; field++) {
    char *text = strsep(&rest, " ");
    if (text && !*text && rest)
      text = strsep(&rest, " ");
    if (!text)
      return -1;
    if (field == STAT_UTIME || field == STAT_STIME)
      ticks += strtoull(text, NULL, 10);
  }
  use->cpu_ms = ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
  return 0;
}

int
process_use_read(pid_t pid, struct process_use *ret_use)
{
  struct process_use use = {0};
  if (read_status(pid, &use) < 0 || read_cpu(pid, &use) < 0)
    return -1;
  *ret_use = use;
  return 0;
}
