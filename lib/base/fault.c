/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/fault.h"

#ifdef IMPRINT_FAULTS

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/lock.h"
#include "lib/base/text.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the two below */
static char armed_text[32];
static uint64_t passed;

/* What the arming file holds now, without its newline; empty when there is none. */
static void
read_arming(char text[32])
{
  text[0] = '\0';
  const char *path = getenv("IMPRINT_FAULT_FILE");
  CLEANUP(closep) int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0)
    return;
  ssize_t len = read(fd, text, 31);
  text[len > 0 ? len : 0] = '\0';
  text[strcspn(text, "\n")] = '\0';
}

static void
trace(const char *name)
{
  const char *path = getenv("IMPRINT_FAULT_TRACE");
  CLEANUP(closep)
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd >= 0)
    (void)dprintf(fd, "%s\n", name);
}

void
fault_point(const char *name)
{
  const char *only = getenv("IMPRINT_FAULT_ONLY");
  if (only && !text_starts_with(name, only))
    return;
  MUTEX_GUARD(&mutex);
  char text[32];
  read_arming(text);
  if (strcmp(text, armed_text) != 0) { /* armed anew: count from here */
    memcpy(armed_text, text, sizeof(armed_text));
    passed = 0;
  }
  /* "N" or "N nonce": the nonce lets a test arm the same N twice. */
  text[strcspn(text, " ")] = '\0';
  uint64_t target;
  if (text_to_u64(text, 10, &target) < 0 || target == 0)
    return;
  passed++;
  trace(name);
  if (passed == target)
    (void)kill(getpid(), SIGKILL);
}

#endif
