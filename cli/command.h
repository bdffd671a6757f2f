/* SPDX-License-Identifier: Apache-2.0 */
/* A subcommand: a file each, listed in main.c. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/flags.h"

/* What a SOURCE and a DESTINATION may begin with, beside a path. */
#define COMMAND_SOURCES                                                                            \
  "http:// https:// s3:// docker:// oci-archive: docker-archive: nbd:// nbds:// nbd+unix:// rbd: " \
  "file://"
#define COMMAND_DESTINATIONS                                                                       \
  "http:// https:// s3:// docker:// oci-archive: nbd:// nbds:// nbd+unix:// rbd: file://"

struct command_example {
  const char *what; /* "An image of a web server, with its checksum" */
  const char *line; /* "imprint import …" */
};

struct command {
  const char *name;                       /* "import" */
  const char *usage;                      /* "SOURCE POOL/IMAGE" */
  const char *schemes;                    /* of its arguments, for shells to offer; or NULL */
  const char *summary;                    /* one line */
  const char *text;                       /* what --help says above the flags */
  const struct flag_set *const *sets;     /* ends with NULL */
  const struct command_example *examples; /* ends with {0} */
  size_t arguments_min, arguments_max;
  int (*run)(const struct arguments *arguments, struct error **err);
};

extern const struct command command_discard;
extern const struct command command_export;
extern const struct command command_import;
extern const struct command command_inspect;
extern const struct command command_push;
extern const struct command command_receive;
extern const struct command command_resolve;
extern const struct command command_health;
extern const struct command command_rollback;

#endif
