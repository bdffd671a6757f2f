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
build_preset clang
case_run clang-tidy lint_clang_tidy
