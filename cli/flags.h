/* SPDX-License-Identifier: Apache-2.0 */
/* A subcommand's flags as one table: it is parsed from the command line or from a JSON object, and
 * --help, the shell completion and the manual page are made from it. */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/error.h"

enum flag_kind {
  FLAG_SWITCH, /* bool */
  FLAG_TEXT,   /* const char * */
  FLAG_NUMBER, /* uint64_t */
  FLAG_BYTES,  /* uint64_t, "20Gi" */
  FLAG_LIST,   /* struct flag_list: may be given several times */
  FLAG_SECRET, /* const char *; from its environment variable or a job: every process of the machine
                  can read the command line */
};

struct flag_list {
  const char **items; /* ends with NULL, so that it can be handed on */
  size_t count;
};

struct flag {
  const char *name; /* without "--" */
  enum flag_kind kind;
  void *value;
  /* what --help calls it: "SIZE", "qcow2|raw" for one of these; NULL for a switch */
  const char *argument;
  const char *help; /* one sentence */
  const char
      *variable; /* environment variable that it is taken from when it is not given, or NULL */
};

/* A table may be put together from several, e.g. one that all subcommands share: a list of sets
 * that ends with NULL. */
struct flag_set {
  const struct flag *flags;
  size_t count;
};

struct arguments {
  char **items;
  size_t count;
};

/* Sets the values; what is not a flag is left in *ret_arguments (the items are argv's, the array is
 * to be freed). "--" ends the flags. INVALID_ARGUMENT names the flag. */
int flags_parse(const struct flag_set *const *sets, int argc, char **argv,
                struct arguments *ret_arguments, struct error **err);
/* The same from an object {"flag-name": value, …}; the member "arguments" is a list of texts. The
 * texts live as long as the process. */
int flags_parse_json(const struct flag_set *const *sets, const char *json, size_t len,
                     struct arguments *ret_arguments, struct error **err);
void flags_clear(const struct flag_set *const *sets);

void flags_print_help(FILE *out, const struct flag_set *const *sets);

#endif
