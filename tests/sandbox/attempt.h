/* SPDX-License-Identifier: Apache-2.0 */
/* Things that a program in the sandbox tries. Each returns 0 when it could be done, else the errno
 * that kept it from being done. */
#ifndef TESTS_SANDBOX_ATTEMPT_H
#define TESTS_SANDBOX_ATTEMPT_H

#include "populator/transfer/sandbox.h"

/* args are those behind the name; there are as many as `arg_count` says. */
struct attempt {
  const char *name;
  int arg_count;
  int (*run)(char *const *args);
};

/* Each ends with one without a name. */
extern const struct attempt file_attempts[];
extern const struct attempt network_attempts[];
extern const struct attempt datagram_attempts[];
extern const struct attempt socket_attempts[];
extern const struct attempt process_attempts[];
extern const struct attempt kernel_attempts[];
extern const struct attempt work_attempts[];

/* The sandbox that the attempts are made in; NULL outside. */
extern struct sandbox *attempt_sandbox;

/* The address of "127.0.0.1" "80"; its length. */
socklen_t attempt_address(const char *host, const char *port, struct sockaddr_storage *ret_address);

#endif
