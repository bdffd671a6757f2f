# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs the fuzzers of tests/fuzz.

# fuzz_one PROGRAM NAME SECONDS DIR: from the committed inputs in tests/fuzz/corpus/NAME/; new ones go
# to DIR/corpus/NAME and those that broke something to DIR/artifacts/NAME. With FUZZ_SEED it tries the
# same inputs each time.
fuzz_one() {
  local found=$4/corpus/$2 artifacts=$4/artifacts/$2 committed=$ROOT/tests/fuzz/corpus/$2 file
  mkdir -p "$found" "$artifacts"
  [[ -d $committed ]] || committed=
  if ! "$1" -max_total_time="$3" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
    ${FUZZ_SEED:+-seed="$FUZZ_SEED"} -artifact_prefix="$artifacts/" "$found" ${committed:+"$committed"}; then
    for file in "$artifacts"/*; do
      printf 'to keep as a test: base64 -d > tests/fuzz/corpus/%s/%s <<< %s\n' \
        "$2" "${file##*/}" "$(base64 -w 0 "$file")"
    done
    return 1
  fi
}

# fuzz_programs [NAME…]: in FUZZERS, the programs; all of them without a name.
fuzz_programs() {
  local name program
  FUZZERS=()
  if (($#)); then
    for name in "$@"; do
      program=$ROOT/build/fuzz/tests/fuzz/fuzz_$name
      [[ -x $program ]] || die "there is no fuzzer '$name'"
      FUZZERS+=("$program")
    done
    return
  fi
  for program in "$ROOT"/build/fuzz/tests/fuzz/fuzz_*; do
    [[ ! -f $program || ! -x $program ]] || FUZZERS+=("$program")
  done
}

# fuzz_run SECONDS DIR: a case each of FUZZERS, as many at once as there are processors. Beside other
# groups it is one at a time, on what they leave of the processors.
fuzz_run() {
  local program name at_once
  at_once=$(nproc)
  if [[ -n ${IS_BESIDE:-} ]]; then
    at_once=1
    { echo 10 >/proc/self/autogroup; } 2>/dev/null || renice -n 10 "$BASHPID" >/dev/null
  fi
  for program in "${FUZZERS[@]}"; do
    while (($(jobs -rp | wc -l) >= at_once)); do
      wait -n || true
    done
    name=${program##*/fuzz_}
    case_run "$name" fuzz_one "$program" "$name" "$1" "$2" &
  done
  wait
}
