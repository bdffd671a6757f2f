/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a daemon: long options alone, --help and --version among them. */
#ifndef LIB_BASE_COMMAND_LINE_H
#define LIB_BASE_COMMAND_LINE_H

#include <getopt.h>
#include <stdbool.h>

#include "lib/base/error.h"

/* What every table ends with; the options of a program's own begin at 1. */
enum { COMMAND_LINE_HELP = 1000, COMMAND_LINE_VERSION };
#define COMMAND_LINE_END                                                                           \
  {"help", no_argument, NULL, COMMAND_LINE_HELP},                                                  \
      {"version", no_argument, NULL, COMMAND_LINE_VERSION},                                        \
  {                                                                                                \
    0                                                                                              \
  }

struct command_line {
  const char *program; /* its name */
  const char *help;
  const struct option *options;
  /* Takes one of the program's own; the value is argv's. With one that it does not know, which
   * getopt has told of already, it fails. */
  int (*take)(int option, const char *value, void *target, struct error **err);
};

/* Hands all options to take(). *ret_is_over: help or the version was asked for and printed. */
int command_line_read(const struct command_line *line, int argc, char **argv, void *target,
                      bool *ret_is_over, struct error **err);

#endif
