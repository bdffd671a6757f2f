# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a person sees: one line a step with its seconds, errors on stderr.
#
# A step runs in the current shell, never in a condition, so that `set -e` keeps its meaning inside.
# When one fails the shell exits, and console_failed (called from the exit trap in scratch.sh) shows
# the end of that step's log.

SCREEN=${SCREEN:-1} # the descriptor of the person's screen; 2 where stdout is a result
STEP_LABEL='' # the step that is running, empty between steps
STEP_LOG=''
STEP_START=0

if [[ -t $SCREEN && -z ${NO_COLOR:-} ]]; then
  C_GOOD=$'\e[32m' C_BAD=$'\e[31m' C_DIM=$'\e[2m' C_BOLD=$'\e[1m' C_OFF=$'\e[0m'
else
  C_GOOD='' C_BAD='' C_DIM='' C_BOLD='' C_OFF=''
fi

# die MESSAGE: says why on stderr and ends the shell.
die() {
  printf '%sdev: %s%s\n' "$C_BAD" "$*" "$C_OFF" >&2
  exit 1
}

# now_ms: milliseconds since the epoch, in REPLY: a subshell each time would cost more than the
# step.
now_ms() {
  local microseconds=${EPOCHREALTIME/[.,]/}
  REPLY=$((microseconds / 1000))
}

# seconds_since START_MS: seconds with one digit, in REPLY.
seconds_since() {
  local tenths
  now_ms
  tenths=$(((REPLY - $1 + 50) / 100))
  REPLY=$((tenths / 10)).$((tenths % 10))
}

# log_tail FILE [LINES]: the end of a log, indented.
log_tail() {
  [[ -s $1 ]] || return 0
  tail -n "${2:-40}" "$1" | sed 's/^/      | /'
}

# step LABEL COMMAND…: runs a function or a program with its output in a log, and prints one line.
step() {
  STEP_LABEL=$1 STEP_LOG=$SCRATCH/log/step-${1//[^A-Za-z0-9]/-}.log
  shift
  now_ms
  STEP_START=$REPLY
  [[ ! -t $SCREEN ]] || printf '  %s… %s' "$C_DIM" "$STEP_LABEL$C_OFF" >&"$SCREEN"
  "$@" >"$STEP_LOG" 2>&1 </dev/null
  step_line "$C_GOOD✓"
  STEP_LABEL=''
}

step_line() { # MARK
  seconds_since "$STEP_START"
  {
    [[ ! -t $SCREEN ]] || printf '\r\e[K'
    printf '  %s %-44s %7s s\n' "$1$C_OFF" "$STEP_LABEL" "$REPLY"
  } >&"$SCREEN"
}

# console_failed: names the step that was running when the shell began to exit. Nothing if none was.
console_failed() {
  [[ -n $STEP_LABEL ]] || return 0
  step_line "$C_BAD✗"
  log_tail "$STEP_LOG" >&"$SCREEN"
  STEP_LABEL=''
}
