/* SPDX-License-Identifier: Apache-2.0 */
/* What a process uses, from /proc: memory now, processor time so far. */
#ifndef BENCH_PROCESS_USE_H
#define BENCH_PROCESS_USE_H

#include <stdint.h>
#include <sys/types.h>

struct process_use {
  uint64_t rss_kib;  /* VmRSS: resident, files included */
  uint64_t anon_kib; /* RssAnon: its own data */
  uint64_t threads;
  uint64_t cpu_ms;
};

/* -1 when there is no such process. */
int process_use_read(pid_t pid, struct process_use *ret_use);

#endif
