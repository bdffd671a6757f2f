/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/command_line.h"

#include <stdio.h>

int
command_line_read(const struct command_line *line, int argc, char **argv, void *target,
                  bool *ret_is_over, struct error **err)
{
  int option;
  while ((option = getopt_long(argc, argv, "", line->options, NULL)) != -1) {
    if (option == COMMAND_LINE_HELP || option == COMMAND_LINE_VERSION) {
      if (option == COMMAND_LINE_HELP)
        (void)fputs(line->help, stdout);
      else
        (void)printf("%s %s\n", line->program, IMPRINT_VERSION);
      *ret_is_over = true;
      return 0;
    }
    if (line->take(option, optarg, target, err) < 0)
      return -1;
  }
  if (optind < argc)
    return error_set(err, ERROR_INVALID_ARGUMENT, "unexpected argument '%s'", argv[optind]);
  *ret_is_over = false;
  return 0;
}
