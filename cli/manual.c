/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manual.h"

#include <string.h>

/* roff takes a backslash, and a dot or quote at the start of a line, for its own. */
static void
print_text(FILE *out, const char *text)
{
  bool is_line_start = true;
  for (const char *c = text; *c; c++) {
    if (is_line_start && (*c == '.' || *c == '\''))
      (void)fputs("\\&", out);
    if (*c == '\\')
      (void)fputs("\\e", out);
    else if (*c == '-')
      (void)fputs("\\-", out);
    else
      (void)fputc(*c, out);
    is_line_start = *c == '\n';
  }
}

static void
print_head(FILE *out, const char *title, const char *summary)
{
  (void)fprintf(out, ".TH IMPRINT%s%s 1 \"\" \"imprint %s\" \"Imprint\"\n", *title ? "-" : "",
                title, IMPRINT_VERSION);
  (void)fprintf(out, ".SH NAME\nimprint%s%s \\- ", *title ? "\\-" : "", title);
  print_text(out, summary);
  (void)fputs("\n", out);
}

static void
print_exit_status(FILE *out, const char *exit_text)
{
  (void)fputs(".SH EXIT STATUS\n", out);
  print_text(out, exit_text + strlen("Exit status: "));
}

static void
print_flag(FILE *out, const struct flag *flag)
{
  (void)fputs(".TP\n.B \\-\\-", out);
  print_text(out, flag->name);
  if (flag->argument) {
    (void)fputs("=", out);
    print_text(out, flag->argument);
  }
  (void)fputs("\n", out);
  print_text(out, flag->help);
  (void)fputs(".\n", out);
  if (flag->variable)
    (void)fprintf(out, "Taken from the environment variable %s when it is not given.\n",
                  flag->variable);
}

void
manual_print_page(FILE *out, const struct command *command, const char *exit_text)
{
  print_head(out, command->name, command->summary);
  (void)fprintf(out, ".SH SYNOPSIS\n.B imprint %s\n[FLAG]... ", command->name);
  print_text(out, command->usage);
  (void)fputs("\n.SH DESCRIPTION\n", out);
  print_text(out, command->summary);
  (void)fputs(".\n.PP\n", out);
  print_text(out, command->text);
  (void)fputs(".SH OPTIONS\n", out);
  for (size_t s = 0; command->sets[s]; s++) {
    for (size_t i = 0; i < command->sets[s]->count; i++)
      print_flag(out, &command->sets[s]->flags[i]);
  }
  print_exit_status(out, exit_text);
  (void)fputs(".SH SEE ALSO\n.BR imprint (1),\n.BR rbd (8)\n", out);
}

void
manual_print_overview(FILE *out, const struct command *const *commands, size_t count,
                      const char *exit_text)
{
  print_head(out, "", "VM images into Ceph RBD and out again");
  (void)fputs(".SH SYNOPSIS\n.B imprint\nCOMMAND [FLAG]... [ARGUMENT]...\n.SH COMMANDS\n", out);
  for (size_t i = 0; i < count; i++) {
    (void)fprintf(out, ".TP\n.BR imprint\\-%s (1)\n", commands[i]->name);
    print_text(out, commands[i]->summary);
    (void)fputs(".\n", out);
  }
  print_exit_status(out, exit_text);
}

static void
print_completion_case(FILE *out, const struct command *command)
{
  (void)fprintf(out, "  %s) flags='", command->name);
  for (size_t s = 0; command->sets[s]; s++) {
    for (size_t i = 0; i < command->sets[s]->count; i++) {
      const struct flag *flag = &command->sets[s]->flags[i];
      (void)fprintf(out, "--%s%s ", flag->name, flag->argument ? "=" : "");
    }
  }
  (void)fputs("--help' ;;\n", out);
}

void
manual_print_bash_completion(FILE *out, const struct command *const *commands, size_t count)
{
  (void)fputs("# bash completion for imprint\n_imprint() {\n"
              "  local word=${COMP_WORDS[COMP_CWORD]} flags=\n"
              "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W '",
              out);
  for (size_t i = 0; i < count; i++)
    (void)fprintf(out, "%s ", commands[i]->name);
  (void)fputs("--help --version' -- \"$word\")\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n",
              out);
  for (size_t i = 0; i < count; i++)
    print_completion_case(out, commands[i]);
  (void)fputs("  esac\n  if [[ $word == --* ]]; then\n"
              "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\")\n"
              "    [[ ${COMPREPLY[0]:-} == *= ]] && compopt -o nospace\n"
              "  else\n    compopt -o default\n  fi\n}\ncomplete -F _imprint imprint\n",
              out);
}
