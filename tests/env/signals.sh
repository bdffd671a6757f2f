# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# HUP, INT and TERM end the shell through its exit trap — but not between the start of a process and
# the record of its pid, or nobody would stop that process.

SIGNAL_HELD='' # the exit status of a signal that came while held

signals_trap() {
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

signals_hold() {
  trap 'SIGNAL_HELD=129' HUP
  trap 'SIGNAL_HELD=130' INT
  trap 'SIGNAL_HELD=143' TERM
}

signals_release() {
  signals_trap
  [[ -z $SIGNAL_HELD ]] || exit "$SIGNAL_HELD"
}
