/* SPDX-License-Identifier: Apache-2.0 */
/* Goes into the sandbox as the worker of a transfer does, then tries one thing and tells how it
 * went: "allowed" or "refused: REASON". The tests beside it are what it is for.
 *
 *   sandbox_probe [OPTION...] ATTEMPT [ARGUMENT...] */
#include <arpa/inet.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "cli/confine.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/sandbox/attempt.h"

struct sandbox *attempt_sandbox;
static struct confinement *attempt_confinement;

#define LIST_MAX 16

struct options {
  struct sandbox_options sandbox;
  const char *read_paths[LIST_MAX + 1];
  const char *write_paths[LIST_MAX + 1];
  struct net_policy network;
  struct confine_needs needs; /* as a command finds them out: then all above does not count */
  bool is_command;
  struct source_options source;
  bool is_outside;
  bool is_unsealed;
  bool is_late;
};

static const struct option long_options[] = {
    {"read", required_argument, NULL, 'r'},
    {"write", required_argument, NULL, 'w'},
    {"allow", required_argument, NULL, 'a'},
    {"socket", required_argument, NULL, 's'},
    {"public", required_argument, NULL, 'p'},
    {"uid", required_argument, NULL, 'u'},
    {"memory", required_argument, NULL, 'm'},
    {"lax", no_argument, NULL, 'l'},
    {"outside", no_argument, NULL, 'o'},
    {"unsealed", no_argument, NULL, 'n'},
    {"late", no_argument, NULL, 't'},
    {"source", required_argument, NULL, 'S'},
    {"sink", required_argument, NULL, 'D'},
    {"proxy", required_argument, NULL, 'P'},
    {"endpoint", required_argument, NULL, 'E'},
    {"insecure", no_argument, NULL, 'I'},
    {NULL, 0, NULL, 0},
};

static void
append(const char **list, const char *path)
{
  size_t count = 0;
  while (list[count] && count < LIST_MAX)
    count++;
  list[count] = path;
}

/* As `imprint` goes in for a source or a destination; what is said of it comes before it. */
static bool
apply_command(struct options *options, int letter, const char *value)
{
  switch (letter) {
  case 'S':
    options->is_command = true;
    return confine_needs_add_source(&options->needs, value, &options->source, NULL) == 0;
  case 'D':
    options->is_command = true;
    return confine_needs_add_destination(&options->needs, value, &options->source, NULL) == 0;
  case 'P':
    options->source.http.proxy = value;
    return true;
  case 'E':
    options->source.s3.endpoint = value;
    return true;
  case 'I':
    return options->source.registry_insecure = true;
  default:
    return false;
  }
}

static bool
apply(struct options *options, int letter, const char *value)
{
  uint64_t number = 0;
  switch (letter) {
  case 'r':
    append(options->read_paths, value);
    return true;
  case 'w':
    append(options->write_paths, value);
    return true;
  case 'a':
    return net_policy_add_text(&options->network, value, NULL) == 0;
  case 's':
    net_policy_add_path(&options->network, value);
    return true;
  case 'p':
    if (text_to_u64(value, 10, &number) < 0)
      return false;
    net_policy_add_public(&options->network, (uint16_t)number);
    return true;
  case 'u':
    if (text_to_u64(value, 10, &number) < 0)
      return false;
    options->sandbox.uid = options->sandbox.gid = (uid_t)number;
    return true;
  case 'm':
    return text_to_bytes(value, &options->sandbox.memory_bytes) == 0;
  case 'l':
    options->sandbox.is_strict = false;
    return true;
  case 'o':
    return options->is_outside = true;
  case 'n':
    return options->is_unsealed = true;
  case 't':
    return options->is_late = true;
  default:
    return apply_command(options, letter, value);
  }
}

socklen_t
attempt_address(const char *host, const char *port, struct sockaddr_storage *ret_address)
{
  uint64_t number = 0;
  (void)text_to_u64(port, 10, &number);
  *ret_address = (struct sockaddr_storage){0};
  struct sockaddr_in *in = (struct sockaddr_in *)ret_address;
  struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret_address;
  if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)number);
    return sizeof(*in);
  }
  (void)inet_pton(AF_INET6, host, &in6->sin6_addr);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons((uint16_t)number);
  return sizeof(*in6);
}

static const struct attempt *
find_attempt(const char *name)
{
  static const struct attempt *const tables[] = {
      file_attempts,    network_attempts, datagram_attempts, socket_attempts,
      process_attempts, kernel_attempts,  work_attempts};
  for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
    for (const struct attempt *at = tables[i]; at->name; at++) {
      if (strcmp(at->name, name) == 0)
        return at;
    }
  }
  return NULL;
}

static void *
idle_main(void *arg)
{
  (void)arg;
  (void)poll(NULL, 0, -1);
  return NULL;
}

static int
enter(struct options *options, struct error **err)
{
  pthread_t thread;
  options->sandbox.read_paths = options->read_paths;
  options->sandbox.write_paths = options->write_paths;
  options->sandbox.network = &options->network;
  if (options->is_late) /* a thread that would stay outside */
    (void)pthread_create(&thread, NULL, idle_main, NULL);
  if (options->is_outside)
    return 0;
  if (options->is_command)
    return confine_begin(&options->needs, &attempt_confinement, err) < 0
               ? -1
               : confine_seal(attempt_confinement, err);
  if (sandbox_enter(&options->sandbox, &attempt_sandbox, err) < 0)
    return -1;
  return options->is_unsealed ? 0 : sandbox_seal(attempt_sandbox, err);
}

static int
try_it(const struct attempt *attempt, char *const *args)
{
  int r = attempt->run(args);
  if (r == 0)
    (void)printf("allowed\n");
  else
    (void)printf("refused: %s\n", strerror(r));
  return 0;
}

int
main(int argc, char **argv)
{
  struct options options = {.sandbox = {.is_strict = true}};
  int letter;
  while ((letter = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
    if (!apply(&options, letter, optarg))
      return 2;
  }
  const struct attempt *attempt = optind < argc ? find_attempt(argv[optind]) : NULL;
  if (!attempt || argc - optind - 1 != attempt->arg_count) {
    (void)fprintf(stderr, "usage: sandbox_probe [OPTION...] ATTEMPT [ARGUMENT...]\n");
    return 2;
  }
  CLEANUP(error_freep) struct error *err = NULL;
  if (enter(&options, &err) < 0) {
    (void)fprintf(stderr, "%s\n", err->message);
    return 3;
  }
  int status = try_it(attempt, argv + optind + 1);
  (void)fflush(stdout);
  net_policy_clear(&options.network);
  confine_needs_clear(&options.needs);
  sandbox_free(attempt_sandbox);
  confinement_free(attempt_confinement);
  return status;
}
