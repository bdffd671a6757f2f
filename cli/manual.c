/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manual.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/exit_status.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define ELLIPSIS "…"

/* ---- roff --------------------------------------------------------------------------------------
 */

/* roff takes a backslash, and a dot or quote at the start of a line, for its own. */
static void
print_text(FILE *out, const char *text)
{
  bool is_line_start = true;
  for (const char *c = text; *c; c++) {
    if (is_line_start && (*c == '.' || *c == '\''))
      (void)fputs("\\&", out);
    if (text_starts_with(c, ELLIPSIS)) {
      (void)fputs("...", out);
      c += strlen(ELLIPSIS) - 1;
    } else if (*c == '\\') {
      (void)fputs("\\e", out);
    } else if (*c == '-') {
      (void)fputs("\\-", out);
    } else {
      (void)fputc(*c, out);
    }
    is_line_start = *c == '\n';
  }
}

/* An empty line begins a paragraph. */
static void
print_paragraphs(FILE *out, const char *text)
{
  while (*text) {
    const char *end = strstr(text, "\n\n");
    size_t len = end ? (size_t)(end - text) + 1 : strlen(text);
    CLEANUP(freep) char *paragraph = xstrndup(text, len);
    (void)fputs(".PP\n", out);
    print_text(out, paragraph);
    text += end ? len + 1 : len;
  }
}

/* Of the build, or what SOURCE_DATE_EPOCH says: the same sources make the same pages. */
static void
print_date(FILE *out)
{
  const char *given = getenv("SOURCE_DATE_EPOCH");
  uint64_t seconds;
  time_t when = given && text_to_u64(given, 10, &seconds) == 0 ? (time_t)seconds : time(NULL);
  struct tm day;
  char text[sizeof("2026-12-31")] = "";
  if (gmtime_r(&when, &day))
    (void)strftime(text, sizeof(text), "%Y-%m-%d", &day);
  (void)fputs(text, out);
}

static void
print_head(FILE *out, const char *command, const char *summary)
{
  (void)fprintf(out, ".TH IMPRINT%s", *command ? "\\-" : "");
  for (const char *c = command; *c; c++)
    (void)fputc(*c - 'a' + 'A', out);
  (void)fputs(" 1 \"", out);
  print_date(out);
  (void)fprintf(out, "\" \"imprint %s\" \"Imprint\"\n.SH NAME\nimprint%s%s \\- ", IMPRINT_VERSION,
                *command ? "\\-" : "", command);
  print_text(out, summary);
  (void)fputs("\n", out);
}

/* ---- sections ----------------------------------------------------------------------------------
 */

static void
print_flag(FILE *out, const struct flag *flag)
{
  if (flag->kind == FLAG_SECRET)
    return; /* cannot be typed: see print_environment() */
  (void)fputs(".TP\n.B \\-\\-", out);
  print_text(out, flag->name);
  if (flag->argument) {
    (void)fputs("=", out);
    print_text(out, flag->argument);
  }
  (void)fputs("\n", out);
  print_text(out, flag->help);
  (void)fputs(".\n", out);
}

static void
print_flags(FILE *out, const struct flag_set *const *sets)
{
  (void)fputs(".SH OPTIONS\n", out);
  for (size_t s = 0; sets[s]; s++) {
    for (size_t i = 0; i < sets[s]->count; i++)
      print_flag(out, &sets[s]->flags[i]);
  }
  (void)fputs(".TP\n.B \\-\\-help\nshow what there is, and nothing else.\n", out);
}

static void
print_variable(FILE *out, const struct flag *flag)
{
  if (!flag->variable)
    return;
  (void)fprintf(out, ".TP\n.B %s\n", flag->variable);
  if (flag->kind == FLAG_SECRET)
    print_text(out, flag->help);
  else
    (void)fprintf(out, "what \\-\\-%s is when it is not given", flag->name);
  (void)fputs(".\n", out);
}

static void
print_environment(FILE *out, const struct flag_set *const *sets)
{
  (void)fputs(
      ".SH ENVIRONMENT\nKeys, passwords and tokens are taken from here alone: every process "
      "of the machine can read a\ncommand line.\n",
      out);
  for (size_t s = 0; sets[s]; s++) {
    for (size_t i = 0; i < sets[s]->count; i++)
      print_variable(out, &sets[s]->flags[i]);
  }
}

static void
print_exit_status(FILE *out)
{
  (void)fputs(".SH EXIT STATUS\n", out);
  for (size_t i = 0; i < exit_status_count; i++) {
    (void)fprintf(out, ".TP\n.B %zu\n", i);
    print_text(out, exit_status_meanings[i]);
    (void)fputs(".\n", out);
  }
}

static void
print_diagnostics(FILE *out)
{
  (void)fputs(
      ".SH DIAGNOSTICS\nA failure is one line on standard error, which begins with\n"
      ".BR imprint: .\nIt tells what was to be done, with what, and why it failed, from the "
      "outermost to the\ncause:\n.PP\n.nf\n"
      "imprint: import to 'vms/debian': 'disk.qcow2' has a backing file: ...\n.fi\n",
      out);
}

static void
print_examples(FILE *out, const struct command *command)
{
  (void)fputs(".SH EXAMPLES\n", out);
  for (const struct command_example *example = command->examples; example->line; example++) {
    (void)fputs(example == command->examples ? "" : ".PP\n", out);
    print_text(out, example->what);
    (void)fputs(":\n.PP\n.nf\n.RS\n", out);
    print_text(out, example->line);
    (void)fputs("\n.RE\n.fi\n", out);
  }
}

/* ---- pages -------------------------------------------------------------------------------------
 */

void
manual_print_page(FILE *out, const struct command *command)
{
  print_head(out, command->name, command->summary);
  (void)fprintf(out, ".SH SYNOPSIS\n.B imprint %s\n[FLAG]... ", command->name);
  print_text(out, command->usage);
  (void)fputs("\n.SH DESCRIPTION\n", out);
  print_text(out, command->summary);
  (void)fputs(".\n", out);
  print_paragraphs(out, command->text);
  print_flags(out, command->sets);
  print_environment(out, command->sets);
  print_exit_status(out);
  print_diagnostics(out);
  print_examples(out, command);
  (void)fputs(".SH SEE ALSO\n.BR imprint (1),\n.BR rbd (8)\n", out);
}

void
manual_print_overview(FILE *out, const struct command *const *commands, size_t count)
{
  print_head(out, "", "VM images into Ceph RBD and out again");
  (void)fputs(".SH SYNOPSIS\n.B imprint\nCOMMAND [FLAG]... [ARGUMENT]...\n.SH COMMANDS\n", out);
  for (size_t i = 0; i < count; i++) {
    (void)fprintf(out, ".TP\n.BR imprint\\-%s (1)\n", commands[i]->name);
    print_text(out, commands[i]->summary);
    (void)fputs(".\n", out);
  }
  print_exit_status(out);
  print_diagnostics(out);
  (void)fputs(".SH SEE ALSO\n", out);
  for (size_t i = 0; i < count; i++)
    (void)fprintf(out, ".BR imprint\\-%s (1),\n", commands[i]->name);
  (void)fputs(".BR imprint\\-controller (8),\n.BR imprint\\-node (8),\n"
              ".BR imprint\\-populator (8)\n",
              out);
}
