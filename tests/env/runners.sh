# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs suites of other test programs and reports each of their cases.

# ctest_run PRESET [CTEST_ARGUMENT…]: the CTest tests of build/PRESET. None of them is in
# $ONLY_CASES.
ctest_run() {
  [[ -z ${ONLY_CASES:-} ]] || return 0
  local preset=$1 junit=$SCRATCH/ctest-$1.xml log=$SCRATCH/log/ctest-$1.log
  shift
  rm -f "$junit"
  suite_begin
  process_run ctest case_output "$log" ctest --test-dir "$ROOT/build/$preset" \
    --output-junit "$junit" --no-tests=error --parallel "$(nproc)" "$@"
  junit_report "$junit" --prefix "$preset/"
  suite_end "ctest-$preset" "$log"
}

PYTEST_CHOSE_NONE=5

# pytest_run PATH… [PYTEST_ARGUMENT…]: Python tests, with the fixtures and the live report of
# tests/lib. $ONLY_CASES: a file with the names of those that are wanted.
pytest_run() {
  local log=$SCRATCH/log/pytest.log
  suite_begin
  process_run pytest "$PYTHON" "$ROOT/tests/lib/pytest_main.py" --rootdir "$ROOT" \
    --basetemp "$SCRATCH/pytest" "$@" 3>&1 >"$log" 2>&1 # 3: where the cases are printed
  [[ -z ${ONLY_CASES:-} ]] || ((RUN_STATUS != PYTEST_CHOSE_NONE)) || return 0
  suite_end pytest "$log"
}

# junit_report XML [OPTION…]: the cases of a JUnit file; tests/lib/junit.py tells the options.
junit_report() {
  [[ ! -s $1 ]] || "$PYTHON" "$ROOT/tests/lib/junit.py" "$@"
}

# suite_begin … suite_end NAME LOG: a suite whose program (RUN_STATUS) failed without a failed case
# to show for it is a failure of its own, and so is one that reported nothing.
suite_begin() {
  SUITE_LINES=$(wc -l <"$RESULTS")
}

suite_end() {
  local lines
  lines=$(tail -n "+$((SUITE_LINES + 1))" "$RESULTS")
  if [[ -z $lines ]] || { ((RUN_STATUS != 0)) && ! grep -q '^fail ' <<<"$lines"; }; then
    report fail "$1" '' "exit status $RUN_STATUS"
    log_tail "$2"
  fi
}
