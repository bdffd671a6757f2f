# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The private folder of one run, and the promise that nothing outlives it.
#
# scratch_open makes $SCRATCH and sets the traps. Whatever has to be undone is registered with
# at_exit before it is begun, so that a failure or a signal in the middle is covered. At the end,
# with further signals ignored, what runs in the foreground is stopped first, then at_exit's
# commands run in reverse order, then the folder goes. KEEP=1 leaves the folder (logs, core files)
# but still stops every process.

AT_EXIT=() # commands, undone from the end

# scratch_open: idempotent within one shell.
scratch_open() {
  [[ -z ${SCRATCH_OWNER:-} ]] || return 0
  SCRATCH_OWNER=$BASHPID
  SCRATCH=''
  trap scratch_close EXIT
  signals_trap
  SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/imprint-XXXXXX")
  mkdir "$SCRATCH/log" "$SCRATCH/pids"
  export SCRATCH TMPDIR=$SCRATCH # what children put aside goes with it
}

# at_exit COMMAND…: runs COMMAND when the shell ends, however it ends.
at_exit() {
  local quoted
  printf -v quoted '%q ' "$@"
  AT_EXIT+=("$quoted")
}

# scratch_sweep: stops what scripts that were run from here left in folders of their own: one that
# was killed could not do it.
scratch_sweep() {
  local pids
  while IFS= read -r pids; do
    process_stop_all "$pids"
  done < <(find "$SCRATCH" -type d -name pids)
}

# scratch_close: the exit trap. Keeps the status that the shell was ending with.
scratch_close() {
  local status=$? i
  trap '' HUP INT TERM
  trap - EXIT
  set +e
  [[ -n $SCRATCH ]] || exit "$status"
  ((status == 0)) || console_failed
  process_stop_all "$SCRATCH/pids"
  for ((i = ${#AT_EXIT[@]} - 1; i >= 0; i--)); do
    eval "${AT_EXIT[i]}"
  done
  scratch_sweep
  if [[ -n ${KEEP:-} ]]; then
    printf 'kept %s\n' "$SCRATCH" >&2
  else
    rm -rf -- "$SCRATCH"
  fi
  exit "$status"
}
