#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: format, static analysis and banned calls

source "$(dirname "$(realpath "$0")")/../env.sh"
cd "$ROOT"

mapfile -t C_FILES < <(source_files '*.c' '*.h')
mapfile -t SHELL_FILES < <(source_files dev .ci/run '*.sh')
mapfile -t PYTHON_FILES < <(source_files '*.py')

# lint_absent REGEX: no C line may match; comments are looked at too, to keep the rule simple.
lint_absent() {
  ! grep -nP "$1" "${C_FILES[@]}"
}

# Calls that overflow, truncate silently, or hand a string to a shell.
lint_banned_calls() {
  lint_absent '\b(strcpy|strcat|v?sprintf|strtok|ato([fil]|ll)|v?[fs]?scanf|gets|system|popen)\s*\('
}

# A descriptor without O_CLOEXEC leaks into every program that is run.
lint_close_on_exec() {
  lint_absent '\bopen(at)?\((?!.*O_CLOEXEC).*\bO_[A-Z]+|\bfopen\(.*, *"[^e"]*"\)'
}

# Our own sources of the compile database: what is generated there is not looked at.
lint_clang_tidy() {
  "$PYTHON" tests/env/tidy.py build/clang "$CACHE/tidy" "${C_FILES[@]}"
}

# Each program and each subcommand has a page that man and mandoc have nothing to say about.
lint_manuals() {
  local pages=(build/clang/share/man/man*/*) subcommands
  subcommands=$(grep -c '^extern const struct command ' cli/command.h)
  ((${#pages[@]} == subcommands + 4)) || { printf 'there are %d pages\n' "${#pages[@]}" && return 1; }
  mandoc -T lint -W warning "${pages[@]}"
}

lint_completion() {
  bash -n build/clang/share/bash-completion/completions/imprint
  zsh -n build/clang/share/zsh/site-functions/_imprint
  fish -n build/clang/share/fish/vendor_completions.d/imprint.fish
}

# What --help tells, which pages are made of, is what is parsed: the same options, none missing.
lint_help() {
  local file
  for file in controllerplugin/options.c nodeplugin/options.c populator/program/options.c; do
    diff <({
      printf '%s\n' help version # COMMAND_LINE_END
      sed -n 's/^    {"\([a-z-]*\)", [a-z]*_argument.*/\1/p' "$file"
    } | sort) \
      <(sed -n '/help_text\[\]/,/;$/p' "$file" | grep -oP '(?<=^    "  |, )--\K[a-z-]+' | sort)
  done
}

lint_python() {
  "$PYTHON" -W error -c 'import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name, encoding="utf-8").read(), name)' "${PYTHON_FILES[@]}"
}

case_run clang-format clang-format --dry-run -Werror "${C_FILES[@]}"
case_run banned-calls lint_banned_calls
case_run close-on-exec lint_close_on_exec
case_run shellcheck shellcheck -x --source-path=SCRIPTDIR "${SHELL_FILES[@]}"
case_run python-syntax lint_python
case_run options-in-help lint_help
build_preset clang
case_run manual-pages lint_manuals
case_run completion lint_completion
case_run clang-tidy lint_clang_tidy
