/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/completion.h"

#include <string.h>

/* Calls print for each flag that can be typed. */
static void
for_each_flag(FILE *out, const struct command *command,
              void (*print)(FILE *out, const struct command *command, const struct flag *flag))
{
  for (size_t s = 0; command->sets[s]; s++) {
    for (size_t i = 0; i < command->sets[s]->count; i++) {
      const struct flag *flag = &command->sets[s]->flags[i];
      if (flag->kind != FLAG_SECRET)
        print(out, command, flag);
    }
  }
}

static bool
is_file(const struct flag *flag)
{
  return strcmp(flag->argument, "FILE") == 0;
}

static bool
is_choice(const struct flag *flag)
{
  return strchr(flag->argument, '|') != NULL;
}

/* "qcow2|raw" with a space between. */
static void
print_choices(FILE *out, const struct flag *flag)
{
  for (const char *c = flag->argument; *c; c++)
    (void)fputc(*c == '|' ? ' ' : *c, out);
}

/* Inside single quotes; what is special to the shell's own syntax there gets a backslash. */
static void
print_quoted(FILE *out, const char *text, const char *special)
{
  for (const char *c = text; *c; c++) {
    if (*c == '\'') {
      (void)fputs("'\\''", out);
      continue;
    }
    if (strchr(special, *c))
      (void)fputc('\\', out);
    (void)fputc(*c, out);
  }
}

/* ---- bash --------------------------------------------------------------------------------------
 */

static void
print_bash_name(FILE *out, const struct command *command, const struct flag *flag)
{
  (void)command;
  (void)fprintf(out, "--%s%s ", flag->name, flag->argument ? "=" : "");
}

static void
print_bash_value(FILE *out, const struct command *command, const struct flag *flag)
{
  if (!flag->argument)
    return;
  (void)fprintf(out, "    %s:--%s) ", command->name, flag->name);
  if (is_choice(flag)) {
    (void)fputs("mapfile -t COMPREPLY < <(compgen -W '", out);
    print_choices(out, flag);
    (void)fputs("' -- \"$word\") ;;\n", out);
  } else {
    (void)fputs(is_file(flag) ? "compopt -o default ;;\n" : ";;\n", out);
  }
}

/* Flags of each command, and what its other arguments may begin with. */
static void
print_bash_words(FILE *out, const struct command *command)
{
  (void)fprintf(out, "        %s) flags='", command->name);
  for_each_flag(out, command, print_bash_name);
  (void)fprintf(out, "--help' schemes='%s' ;;\n", command->schemes ? command->schemes : "");
}

/* bash splits a word at "=" and ":", and the program takes a value after a space, too. What comes
 * behind a scheme is not known here; files are, wherever a scheme could stand. */
static void
print_bash(FILE *out, const struct command *const *commands, size_t count)
{
  (void)fputs("# bash completion for imprint\n_imprint() {\n"
              "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
              "  local flags= schemes=\n"
              "  COMPREPLY=()\n"
              "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W '",
              out);
  for (size_t i = 0; i < count; i++)
    (void)fprintf(out, "%s ", commands[i]->name);
  (void)fputs("--help --version' -- \"$word\")\n    return\n  fi\n"
              "  if [[ $word == = ]]; then\n    word=\n"
              "  elif [[ $before == = ]]; then\n    before=${COMP_WORDS[COMP_CWORD - 2]}\n  fi\n"
              "  case ${COMP_WORDS[1]}:$before in\n",
              out);
  for (size_t i = 0; i < count; i++)
    for_each_flag(out, commands[i], print_bash_value);
  (void)fputs("    *)\n      case ${COMP_WORDS[1]} in\n", out);
  for (size_t i = 0; i < count; i++)
    print_bash_words(out, commands[i]);
  (void)fputs("      esac\n      if [[ $word == -* ]]; then\n"
              "        mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\")\n"
              "        [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace\n"
              "      else\n"
              "        mapfile -t COMPREPLY < <(compgen -W \"$schemes\" -- \"$word\")\n"
              "        if ((${#COMPREPLY[@]})); then\n"
              "          compopt -o nospace\n"
              "          mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n"
              "        else\n          compopt -o default\n        fi\n"
              "      fi\n      ;;\n  esac\n}\n"
              "complete -F _imprint imprint\n",
              out);
}

/* ---- zsh ---------------------------------------------------------------------------------------
 */

static void
print_zsh_flag(FILE *out, const struct command *command, const struct flag *flag)
{
  (void)command;
  (void)fprintf(out, " \\\n        '%s--%s%s[", flag->kind == FLAG_LIST ? "*" : "", flag->name,
                flag->argument ? "=" : "");
  print_quoted(out, flag->help, "[]:\\");
  (void)fputc(']', out);
  if (flag->argument) {
    (void)fputc(':', out);
    print_quoted(out, is_choice(flag) ? flag->name : flag->argument, "[]:\\");
    (void)fputc(':', out);
    if (is_choice(flag)) {
      (void)fputc('(', out);
      print_choices(out, flag);
      (void)fputc(')', out);
    } else if (is_file(flag)) {
      (void)fputs("_files", out);
    }
  }
  (void)fputc('\'', out);
}

/* What is no flag. */
static void
print_zsh_argument(FILE *out, const struct command *command)
{
  (void)fputs(" \\\n        '--help[show what there is]' '*:argument:", out);
  if (command->schemes) {
    (void)fputs("{compadd -S \"\" -- ", out);
    print_quoted(out, command->schemes, ":");
    (void)fputs("; _files}", out);
  } else {
    (void)fputs("_files", out);
  }
  (void)fputs("' ;;\n", out);
}

static void
print_zsh(FILE *out, const struct command *const *commands, size_t count)
{
  (void)fputs("#compdef imprint\n_imprint() {\n  local -a commands=(\n", out);
  for (size_t i = 0; i < count; i++) {
    (void)fprintf(out, "    '%s:", commands[i]->name);
    print_quoted(out, commands[i]->summary, ":\\");
    (void)fputs("'\n", out);
  }
  (void)fputs("  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
              "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n",
              out);
  for (size_t i = 0; i < count; i++) {
    (void)fprintf(out, "    %s)\n      _arguments", commands[i]->name);
    for_each_flag(out, commands[i], print_zsh_flag);
    print_zsh_argument(out, commands[i]);
  }
  (void)fputs("  esac\n}\n_imprint \"$@\"\n", out);
}

/* ---- fish --------------------------------------------------------------------------------------
 */

static void
print_fish_text(FILE *out, const char *text)
{
  for (const char *c = text; *c; c++) {
    if (*c == '\'' || *c == '\\')
      (void)fputc('\\', out);
    (void)fputc(*c, out);
  }
}

static void
print_fish_flag(FILE *out, const struct command *command, const struct flag *flag)
{
  (void)fprintf(out, "complete -c imprint -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                flag->name);
  if (flag->argument && is_choice(flag)) {
    (void)fputs(" -xa '", out);
    print_choices(out, flag);
    (void)fputc('\'', out);
  } else if (flag->argument) {
    (void)fputs(is_file(flag) ? " -rF" : " -x", out);
  }
  (void)fputs(" -d '", out);
  print_fish_text(out, flag->help);
  (void)fputs("'\n", out);
}

static void
print_fish(FILE *out, const struct command *const *commands, size_t count)
{
  (void)fputs("# fish completion for imprint\n", out);
  for (size_t i = 0; i < count; i++) {
    (void)fprintf(out, "complete -c imprint -f -n __fish_use_subcommand -a %s -d '",
                  commands[i]->name);
    print_fish_text(out, commands[i]->summary);
    (void)fputs("'\n", out);
    for_each_flag(out, commands[i], print_fish_flag);
    if (commands[i]->schemes)
      (void)fprintf(out, "complete -c imprint -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                    commands[i]->name, commands[i]->schemes);
  }
}

bool
completion_print(FILE *out, const char *shell, const struct command *const *commands, size_t count)
{
  static const struct {
    const char *shell;
    void (*print)(FILE *out, const struct command *const *commands, size_t count);
  } table[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
    if (strcmp(table[i].shell, shell) == 0) {
      table[i].print(out, commands, count);
      return true;
    }
  }
  return false;
}
