/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's own side: the process that is asked. See connect_guard.h. */
#ifndef LIB_SANDBOX_CONNECT_GUARD_PROCESS_H
#define LIB_SANDBOX_CONNECT_GUARD_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/sandbox/net_policy.h"

enum guard_request {
  GUARD_CHECK,  /* look into the worker: `address` there holds GUARD_MAGIC */
  GUARD_ATTACH, /* comes with the listener */
  GUARD_RULE,
  GUARD_PATH,
  GUARD_SEAL,
};

#define GUARD_MAGIC 0x7470697270736b6fULL
/* As long as a unix socket's address can be. */
#define GUARD_PATH_MAX 108

/* What the worker sends; the answer to each is an errno, 0 for success, as an int. */
struct guard_message {
  enum guard_request request;
  uint64_t address;
  struct net_rule rule;
  char path[GUARD_PATH_MAX];
};

struct guard_process_options {
  int control;
  int memory; /* the worker's /proc/self/mem */
  pid_t worker;
  int first_datagram;    /* where descriptors of datagram sockets start */
  uint64_t capabilities; /* that the worker keeps */
};

/* Never returns. Takes the policy over. */
void guard_process_run(const struct guard_process_options *options, struct net_policy *policy)
    __attribute__((noreturn));

#endif
