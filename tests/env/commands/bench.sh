#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev bench NAME [ARG...]
#: A benchmark side by side with peers, as ratios; fails when a goal is missed.
#:
#: Without NAME the benchmarks and their arguments are listed; each takes --json. The result goes to
#: stdout, progress to stderr; the exit status is 1 when a goal is missed.

export SCREEN=2
source "$(dirname "$(realpath "$0")")/../env.sh"

# A benchmark is a file bench/NAME.sh; its line that begins with "#:" says what it compares.
bench_list() {
  local file
  for file in "$ROOT"/bench/*.sh; do
    printf '  %-6s %s\n' "$(basename "$file" .sh)" "$(sed -n 's/^#: //p' "$file")"
  done
}

NAME=${1:-}
if [[ ! $NAME =~ ^[a-z0-9-]+$ || ! -e $ROOT/bench/$NAME.sh ]]; then
  die "which benchmark? There are:
$(bench_list)"
fi
shift
packages_ready
process_run "bench" bash "$ROOT/bench/$NAME.sh" "$@"
exit "$RUN_STATUS"
