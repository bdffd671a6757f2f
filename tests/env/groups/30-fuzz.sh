#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: every fuzzer for FUZZ_SECONDS (60), from its committed corpus

source "$(dirname "$(realpath "$0")")/../env.sh"

FUZZ_SECONDS=${FUZZ_SECONDS:-60}

# fuzz_one PROGRAM NAME: new inputs go to the scratch folder; the committed ones in
# tests/fuzz/corpus/NAME/ are read.
fuzz_one() {
  local found=$SCRATCH/corpus/$2 artifacts=$SCRATCH/artifacts/$2 file
  local committed=$ROOT/tests/fuzz/corpus/$2
  mkdir -p "$found" "$artifacts"
  [[ -d $committed ]] || committed=
  if ! "$1" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$artifacts/" "$found" ${committed:+"$committed"}; then
    for file in "$artifacts"/*; do
      printf 'to keep as a test: base64 -d > tests/fuzz/corpus/%s/%s <<< %s\n' \
        "$2" "${file##*/}" "$(base64 -w 0 "$file")"
    done
    return 1
  fi
}

build_preset fuzz
for PROGRAM in "$ROOT"/build/fuzz/tests/fuzz/fuzz_*; do
  [[ -f $PROGRAM && -x $PROGRAM ]] || continue
  while (($(jobs -rp | wc -l) >= $(nproc))); do
    wait -n || true
  done
  NAME=${PROGRAM##*/fuzz_}
  case_run "$NAME" fuzz_one "$PROGRAM" "$NAME" &
done
wait
