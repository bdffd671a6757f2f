#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev bench NAME [--json]
#: A benchmark side by side with peers, as ratios; fails when a goal is missed.
#:
#: NAME is a file bench/NAME.sh, which starts what it needs with the helpers of tests/env/. Without
#: NAME the benchmarks are listed. The result goes to stdout, progress to stderr.

export SCREEN=2
source "$(dirname "$(realpath "$0")")/../env.sh"

bench_names() {
  local file
  for file in "$ROOT"/bench/*.sh; do
    [[ ! -e $file ]] || basename "$file" .sh
  done
}

NAME=${1:-}
if [[ ! $NAME =~ ^[a-z0-9-]+$ || ! -e $ROOT/bench/$NAME.sh ]]; then
  die "which benchmark? There are: $(bench_names | xargs)"
fi
shift
packages_ready
process_run "bench" bash "$ROOT/bench/$NAME.sh" "$@"
exit "$RUN_STATUS"
