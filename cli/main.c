/* SPDX-License-Identifier: Apache-2.0 */
/* imprint: the command. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/exit_status.h"
#include "cli/failure.h"
#include "cli/job.h"
#include "cli/manual.h"
#include "cli/source_flags.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

static const struct command *const commands[] = {
    &command_import,  &command_export,   &command_inspect, &command_push,   &command_receive,
    &command_resolve, &command_rollback, &command_discard, &command_health,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
print_overview(FILE *out)
{
  (void)fputs("Usage: imprint COMMAND [ARGUMENT]...\n\n", out);
  for (size_t i = 0; i < COMMANDS; i++)
    (void)fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  (void)fputs("\nimprint COMMAND --help tells more.\n", out);
}

static void
print_help(const struct command *command)
{
  (void)printf("Usage: imprint %s [FLAG]... %s\n\n%s.\n\n%s\n", command->name, command->usage,
               command->summary, command->text);
  flags_print_help(stdout, command->sets);
  (void)puts("\nExamples:");
  for (const struct command_example *example = command->examples; example->line; example++)
    (void)printf("  # %s\n  %s\n", example->what, example->line);
  (void)puts("\nExit status:");
  for (size_t i = 0; i < exit_status_count; i++)
    (void)printf("  %2zu %s\n", i, exit_status_meanings[i]);
}

static const struct command *
find_command(const char *name)
{
  for (size_t i = 0; i < COMMANDS; i++) {
    if (strcmp(commands[i]->name, name) == 0)
      return commands[i];
  }
  return NULL;
}

/* What the build makes files of; see manual.h and completion.h. */
static int
print_generated(const char *what, const char *which)
{
  const struct command *command = find_command(which);
  if (strcmp(what, "--completion") == 0)
    return completion_print(stdout, which, commands, COMMANDS) ? 0 : 2;
  if (strcmp(what, "--manual") != 0)
    return 2;
  if (strcmp(which, "imprint") == 0)
    manual_print_overview(stdout, commands, COMMANDS);
  else if (command)
    manual_print_page(stdout, command);
  else
    return 2;
  return 0;
}

static int
run_with(const struct command *command, struct arguments *arguments, struct error **err)
{
  int r = arguments->count < command->arguments_min || arguments->count > command->arguments_max
              ? error_set(err, ERROR_INVALID_ARGUMENT, "wants %s: try --help", command->usage)
              : command->run(arguments, err);
  free(arguments->items);
  flags_clear(command->sets);
  return r;
}

static int
run_command(const struct command *command, int argc, char **argv, struct error **err)
{
  struct arguments arguments;
  if (flags_parse(command->sets, argc, argv, &arguments, err) < 0)
    return -1;
  source_flags_look_around();
  return run_with(command, &arguments, err);
}

/* As another program of ours runs it: the flags and arguments come as JSON. */
static int
run_job(const struct command *command, struct error **err)
{
  struct arguments arguments;
  CLEANUP(freep) char *json = NULL;
  size_t len;
  if (job_read(&json, &len, err) < 0 ||
      flags_parse_json(command->sets, json, len, &arguments, err) < 0)
    return error_wrap(err, "job");
  return run_with(command, &arguments, err);
}

/* A descriptor that was closed by whoever started us would be given to the next file that is
 * opened, and our words would go into an image. What takes its place can be used no more than a
 * closed one: an image that is read from there would be empty, one that is written would be lost.
 */
static void
hold_standard_descriptors(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) < 0) /* the lowest that is free: it gets this number */
      (void)open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

/* Who closed standard output does not want to hear of anything. */
static bool
is_output_closed(void)
{
  int flags = fcntl(STDOUT_FILENO, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

/* What was printed is the result: whoever did not get it must not take it for empty. */
static int
check_printed(int status)
{
  bool is_lost = ferror(stdout) != 0;
  int r = fflush(stdout);
  if ((r == 0 && !is_lost) || is_output_closed())
    return status;
  (void)fprintf(stderr, "imprint: write to standard output: %s\n",
                r == 0 ? "not all of it was taken" : strerror(errno));
  return status == 0 ? exit_status_of(ERROR_INTERNAL) : status;
}

static int
run(int argc, char **argv)
{
  if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
    print_overview(argc < 2 ? stderr : stdout);
    return argc < 2 ? 2 : 0;
  }
  if (strcmp(argv[1], "--version") == 0) {
    (void)printf("imprint %s\n", IMPRINT_VERSION);
    return 0;
  }
  if (argc > 2 && text_starts_with(argv[1], "--"))
    return print_generated(argv[1], argv[2]);
  const struct command *command = find_command(argv[1]);
  if (!command) {
    (void)fprintf(stderr, "imprint: there is no command '%.64s': try --help\n", argv[1]);
    return 2;
  }
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      print_help(command);
      return 0;
    }
  }
  CLEANUP(error_freep) struct error *err = NULL;
  bool is_job = argc == 3 && strcmp(argv[2], "--job") == 0;
  if (is_job)
    failure_is_of_a_job();
  if ((is_job ? run_job(command, &err) : run_command(command, argc - 2, argv + 2, &err)) == 0)
    return 0;
  return failure_report(err);
}

int
main(int argc, char **argv)
{
  (void)signal(SIGPIPE, SIG_IGN);
  log_set_level(LOG_LEVEL_WARN);
  hold_standard_descriptors();
  return check_printed(run(argc, argv));
}
