# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# When all groups have run, the few cases that failed are tried once more: by themselves, with parts
# (Ceph, Kubernetes) that were just started. One that lost a race against a busy machine, or met what
# another case had left behind, passes then; the summary names it. What fails again has failed.

SECOND_TRY_CASES=3      # a group with more failures is broken
SECOND_TRY_UNTIL_S=4500 # a whole run has an hour and a half

# second_try_is_due RESULTS: Python cases, which can be chosen by name, of a group that came to its
# end.
second_try_is_due() {
  local failed
  failed=$(grep '^fail ' "$1") || return 1
  ((SECONDS < SECOND_TRY_UNTIL_S && $(wc -l <<<"$failed") <= SECOND_TRY_CASES)) &&
    ! grep -vq '^fail [^ ]*::' <<<"$failed" && ! grep -q ' hangs: ' <<<"$failed"
}

# second_try_merge FIRST SECOND: in FIRST, what came of both.
second_try_merge() {
  awk '
    NR == FNR { if ($1 == "fail") failed[$2] = 1; else { kept[$2] = 1; print } next }
    $1 == "pass" && $2 in failed { print "pass", $2, "in a second run" }
    $1 == "fail" || !($2 in failed || $2 in kept)
    { ran[$2] = 1 }
    END { for (name in failed) if (!(name in ran)) print "fail", name, "was not run again" }
  ' "$1" "$2" >"$1.merged"
  mv "$1.merged" "$1"
}

# second_try FILE: of a group that has run.
second_try() {
  group_name "$1"
  local first=$SCRATCH/results-$REPLY
  second_try_is_due "$first" || return 0
  printf '\n%sSecond try%s\n' "$C_BOLD" "$C_OFF"
  ONLY_CASES=$SCRATCH/again-$REPLY RESULTS=$SCRATCH/second-$REPLY
  awk '$1 == "fail" { print $2 }' "$first" >"$ONLY_CASES"
  : >"$RESULTS"
  export ONLY_CASES RESULTS
  group_program "$1"
  process_run "group-$REPLY" "${PROGRAM[@]}"
  ((RUN_STATUS == 0)) || report fail "$REPLY" '' "the group ended with status $RUN_STATUS"
  scratch_sweep
  unset ONLY_CASES
  second_try_merge "$first" "$RESULTS"
}
