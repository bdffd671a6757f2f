# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Processes by pid: start one, stop exactly that one, never by name.
#
# A pid file FOLDER/NAME holds "PID STARTTIME". The start time (field 22 of /proc/PID/stat) tells
# our process from a stranger that got the same number later. Every process leads a process group,
# so that its children are stopped with it. tests/lib/process.py writes the same files.

# process_starttime PID: in REPLY, empty when there is no such process or it is a zombie. One whose
# first thread is a zombie beside others is still ending: it has its files, and their locks.
process_starttime() {
  local stat fields threads
  REPLY=''
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
  read -ra fields <<<"${stat##*) }" # the command name may hold blanks; it ends at the last ')'
  threads=("/proc/$1/task"/*)
  [[ ${fields[0]} == Z && ${#threads[@]} -le 1 ]] || REPLY=${fields[19]}
}

# process_record FOLDER NAME PID
process_record() {
  process_starttime "$3"
  printf '%s %s\n' "$3" "$REPLY" >"$1/$2"
}

# process_pid FOLDER NAME: the pid in REPLY; fails when it does not run (any more).
process_pid() {
  local pid='' started=''
  { read -r pid started <"$1/$2"; } 2>/dev/null || true
  [[ -n $pid && -n $started ]] || return 1
  process_starttime "$pid"
  [[ $REPLY == "$started" ]] || return 1
  REPLY=$pid
}

# process_start FOLDER NAME LOG PROGRAM…: a daemon in a session of its own; its output is appended
# to LOG.
process_start() {
  local folder=$1 name=$2 log=$3
  shift 3
  signals_hold
  setsid "$@" </dev/null >>"$log" 2>&1 &
  process_record "$folder" "$name" $!
  disown $! # no "Killed" message from bash when a test kills it
  signals_release
}

# process_run NAME COMMAND…: a program or a function that a signal to this shell interrupts at once:
# bash holds a trap back while it waits for a foreground command, but not while it is in `wait`. The
# command's status is left in RUN_STATUS and not returned: a caller that wrote `process_run … ||`
# would switch `set -e` off inside the command.
process_run() {
  local name=$1
  shift
  signals_hold
  set -m # a process group of its own
  (
    set +m
    "$@"
  ) </dev/null &
  set +m
  process_record "$SCRATCH/pids" "$name" $!
  signals_release
  RUN_STATUS=0
  wait $! || RUN_STATUS=$?
  rm -f "$SCRATCH/pids/$name"
}

# process_must NAME COMMAND…: the same, and fails with the command's status.
process_must() {
  process_run "$@"
  return "$RUN_STATUS"
}

# process_stop FOLDER NAME [GRACE_SECONDS]: TERM to the group, KILL when the grace is over.
# Fails when KILL was needed. A stopped (SIGSTOP) process is continued, so that it can obey. One
# that waits in the kernel for a device that does not answer cannot: it is given up.
process_stop() {
  local deadline killed=0 pid
  process_pid "$1" "$2" || {
    rm -f "$1/$2"
    return 0
  }
  pid=$REPLY
  kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null || true
  kill -CONT -- "-$pid" 2>/dev/null || true
  now_ms
  deadline=$((REPLY + ${3:-10} * 1000))
  while process_pid "$1" "$2"; do
    now_ms
    if ((REPLY > deadline && killed)); then
      printf 'process %s (%s) cannot be killed\n' "$pid" "$2" >&2
      break
    elif ((REPLY > deadline)); then
      kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
      killed=1
      deadline=$((REPLY + 60000))
    fi
    sleep 0.02
  done
  rm -f "$1/$2"
  return "$killed"
}

# process_stop_all FOLDER: until no pid file is left; one that is being stopped may still start
# another. A group of tests has to take down what it started, so it gets more time than anything in
# it does.
process_stop_all() {
  local files name grace
  while files=("$1"/*) && [[ -e ${files[0]} ]]; do
    name=${files[0]##*/} grace=5
    [[ $name != group-* ]] || grace=90
    process_stop "$1" "$name" "$grace" || true
  done
}

# wait_for SECONDS COMMAND…: tries COMMAND until it succeeds; fails when the time is over.
wait_for() {
  local deadline
  now_ms
  deadline=$((REPLY + $1 * 1000))
  shift
  until "$@"; do
    now_ms
    ((REPLY < deadline)) || return 1
    sleep 0.05
  done
}
