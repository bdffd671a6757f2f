# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The playground of `./dev up`: a Ceph and a controller that stay, one for each checkout.

PLAYGROUND=$CACHE/up-$(cksum <<<"$ROOT" | cut -d ' ' -f 1)

playground_is_up() {
  process_pid "$PLAYGROUND/pids" controller && process_pid "$PLAYGROUND/pids" mon.a
}

# playground_start: the caller undoes it with playground_stop when it fails.
playground_start() {
  build_preset release imprint-controller
  step 'Start Ceph' ceph_furnished "$PLAYGROUND"
  step 'Start imprint-controller' controller_start "$PLAYGROUND" release
}

# playground_stop: also of what is left of one after a reboot.
playground_stop() {
  [[ -d $PLAYGROUND/pids ]] || return 0
  controller_stop "$PLAYGROUND" || true
  ceph_down "$PLAYGROUND"
}

playground_need() {
  playground_is_up || die 'the playground is not running; start it with ./dev up'
}
