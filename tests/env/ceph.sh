#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A private Ceph on one machine: a monitor, a manager and one OSD (BlueStore in a sparse file).
#
# Everything lives in DIR, on free ports, so copies run side by side. Source it for the functions,
# or run it: `ceph.sh osd_start DIR` (that is how Python tests call it).
#
#   ceph_up DIR [ADDR]        a healthy cluster; ADDR is what the daemons listen on (127.0.0.1)
#   ceph_down DIR             stops it by pid and removes DIR
#   ceph_pool DIR POOL [NAMESPACE…]
#   ceph_real_pace DIR
#   osd_pause DIR, osd_resume DIR   SIGSTOP, SIGCONT: connections stay open, nothing answers
#   osd_settle DIR                  behind a pause of more than a few seconds
#   mon_pause DIR, mon_resume DIR   the same for the monitor
#   osd_stop DIR, osd_start DIR     TERM and a new process: connections break
#
# The monitor commits at once and not once a second, and what removed snapshots leave is trimmed without
# pauses, so that tests do not wait for it;
# ceph_real_pace goes back to Ceph's own setting, for benchmarks. CEPH_EXTRA_CONF in the environment
# holds further lines for the [global] section of ceph.conf.

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  CEPH_SH_DIR=$(dirname "$(realpath "$0")")
  for CEPH_SH_PART in console signals process ports; do
    # shellcheck disable=SC1090
    source "$CEPH_SH_DIR/$CEPH_SH_PART.sh"
  done
fi

CEPH_PORTS=64       # mon: 2, mgr: 2, osd: 8, and room for restarts while old connections linger
CEPH_START_TRIES=5  # with other ports each time
CEPH_BLOCK_GIB=${CEPH_BLOCK_GIB:-30} # sparse; what was written once stays taken

# ceph_conf DIR ADDR FIRST_PORT FSID
ceph_conf() {
  local dir=$1 addr=$2 port=$3 fsid=$4
  cat <<CONF
[global]
fsid = $fsid
mon host = [v2:$addr:$port,v1:$addr:$((port + 1))]
public addr = $addr
cluster addr = $addr
ms bind port min = $((port + 2))
ms bind port max = $((port + CEPH_PORTS - 1))
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
# one host: replicas are placed by OSD
osd crush chooseleaf type = 0
keyring = $dir/keyring
run dir = $dir/run
# every client of one process has a socket of its own
admin socket = $dir/run/\$name.\$pid.\$cctid.asok
${CEPH_EXTRA_CONF:-}

[mon]
mon data = $dir/mon
log file = $dir/log/\$name.log
mon cluster log file = $dir/log/cluster.log
mon data avail warn = 2
mon data avail crit = 1
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000
mon osd nearfull ratio = .92
mon osd backfillfull ratio = .94
mon osd full ratio = .96
mgr initial modules =
paxos propose interval = 0.05
paxos min wait = 0.01

[mgr]
# usage that tests wait for is at most a second old
mgr stats period = 1
mgr tick period = 1
mgr data = $dir/mgr
log file = $dir/log/\$name.log

[osd]
osd data = $dir/osd
log file = $dir/log/\$name.log
osd objectstore = bluestore
osd memory target = $((1 << 30))
osd failsafe full ratio = .98
osd max pg per osd hard ratio = 10
# tests wait for what removed snapshots leave; a disk that turns would be spared it
osd snap trim sleep hdd = 0
osd snap trim sleep hybrid = 0
bluestore block size = $((CEPH_BLOCK_GIB << 30))
bluestore block create = true
CONF
}

# ceph_keys DIR OSD_SECRET: every key the cluster will know. The monitor takes them in when it is
# made, so none is created by a round trip later. client.imprint has a keyring of its own, with what
# a driver needs and no more.
ceph_keys() {
  local dir=$1 osd_secret=$2
  (
    umask 077
    ceph-authtool -C "$dir/keyring" --gen-key -n mon. --cap mon 'allow *'
    ceph-authtool "$dir/keyring" --gen-key -n client.admin \
      --cap mon 'allow *' --cap mgr 'allow *' --cap osd 'allow *'
    ceph-authtool "$dir/keyring" --gen-key -n mgr.x \
      --cap mon 'allow profile mgr' --cap osd 'allow *'
    ceph-authtool "$dir/keyring" -n osd.0 --add-key "$osd_secret" \
      --cap mon 'allow profile osd' --cap mgr 'allow profile osd' --cap osd 'allow *' >/dev/null
    ceph-authtool -C "$dir/imprint.keyring" --gen-key -n client.imprint \
      --cap mon 'profile rbd' --cap mgr 'profile rbd' --cap osd 'profile rbd'
    ceph-authtool "$dir/keyring" --import-keyring "$dir/imprint.keyring"
  )
}

# ceph_cmd DIR ARGUMENT…: the ceph command on this cluster; it gives up rather than hang.
ceph_cmd() {
  local dir=$1
  shift
  ceph -c "$dir/ceph.conf" --connect-timeout 10 "$@"
}

ceph_daemon() { # DIR TYPE ID
  process_start "$1/pids" "$2.$3" "$1/log/$2.$3.out" "ceph-$2" -f -c "$1/ceph.conf" -i "$3"
}

ceph_is_listening() { # ADDR PORT
  : 2>/dev/null <>"/dev/tcp/$1/$2"
}

# ceph_mon_start DIR ADDR FSID: chooses ports; another program may be quicker to bind one, then
# others are tried.
ceph_mon_start() {
  local dir=$1 addr=$2 fsid=$3 try port
  for ((try = 0; try < CEPH_START_TRIES; try++)); do
    ports_block "$CEPH_PORTS"
    port=$REPLY
    rm -rf "$dir/mon"
    mkdir "$dir/mon"
    ceph_conf "$dir" "$addr" "$port" "$fsid" >"$dir/ceph.conf"
    monmaptool --create --clobber --addv a "[v2:$addr:$port,v1:$addr:$((port + 1))]" \
      --fsid "$fsid" "$dir/monmap"
    ceph-mon -f -c "$dir/ceph.conf" -i a --mkfs --monmap "$dir/monmap" --keyring "$dir/keyring"
    ceph_daemon "$dir" mon a
    wait_for 20 ceph_mon_settled "$dir" "$addr" "$port"
    process_pid "$dir/pids" mon.a && return 0
  done
  echo "the monitor did not start in $CEPH_START_TRIES tries"
  return 1
}

ceph_mon_settled() { # DIR ADDR PORT: it serves, or it is gone
  ceph_is_listening "$2" "$3" || ! process_pid "$1/pids" mon.a
}

# ceph_up DIR [ADDR]
ceph_up() {
  local dir addr=${2:-127.0.0.1} fsid osd_uuid osd_secret
  dir=$(realpath -m "$1")
  mkdir -p "$dir"
  chmod 0700 "$dir" # keys
  mkdir "$dir"/{pids,log,run,mgr,osd}
  fsid=$(uuidgen)
  osd_uuid=$(uuidgen)
  osd_secret=$(ceph-authtool --gen-print-key)
  ceph_keys "$dir" "$osd_secret"
  ceph_mon_start "$dir" "$addr" "$fsid"
  ceph_daemon "$dir" mgr x
  # before the OSD is there, or the module makes a pool for disks that do not exist
  ceph_cmd "$dir" config set mgr mgr/devicehealth/enable_monitoring false --force
  ceph_cmd "$dir" osd new "$osd_uuid" 0 -i - <<<"{\"cephx_secret\":\"$osd_secret\"}"
  ceph-osd -f -c "$dir/ceph.conf" -i 0 --mkfs --osd-uuid "$osd_uuid"
  ceph_daemon "$dir" osd 0
  wait_for 60 ceph_osd_is_up "$dir"
  wait_for 60 ceph_mgr_reports "$dir"
}

ceph_osd_is_up() {
  [[ $(ceph_cmd "$1" osd stat -f json | jq .num_up_osds) == 1 ]]
}

# The manager's first report: until then the cluster's size reads as 0.
ceph_mgr_reports() {
  [[ $(ceph_cmd "$1" df -f json | jq .stats.total_bytes) -gt 0 ]]
}

# ceph_down DIR: also of a cluster that was never completed.
ceph_down() {
  local dir name
  dir=$(realpath -m "$1")
  [[ -d $dir/pids ]] || return 0
  for name in osd.0 mgr.x mon.a; do
    process_stop "$dir/pids" "$name" 10 || true
  done
  [[ -n ${KEEP:-} ]] || rm -rf -- "$dir"
}

# ceph_pool DIR POOL [NAMESPACE…]: a pool for RBD, with its namespaces.
ceph_pool() {
  local dir=$1 pool=$2 namespace
  shift 2
  ceph_cmd "$dir" osd pool create "$pool" 32 32
  ceph_cmd "$dir" osd pool application enable "$pool" rbd
  rbd -c "$dir/ceph.conf" pool init "$pool"
  for namespace in "$@"; do
    rbd -c "$dir/ceph.conf" namespace create --pool "$pool" --namespace "$namespace"
  done
}

ceph_real_pace() {
  ceph_cmd "$1" tell mon.a config set paxos_propose_interval 1
  ceph_cmd "$1" tell mon.a config set paxos_min_wait 0.05
  ceph_cmd "$1" tell osd.0 config set osd_snap_trim_sleep_hdd 5
  ceph_cmd "$1" tell osd.0 config set osd_snap_trim_sleep_hybrid 2
}

ceph_signal() { # DIR DAEMON SIGNAL
  process_pid "$1/pids" "$2" || {
    echo "$2 does not run" >&2
    return 1
  }
  kill -"$3" "$REPLY"
}

osd_pause() { ceph_signal "$1" osd.0 STOP; }
osd_resume() { ceph_signal "$1" osd.0 CONT; }
mon_pause() { ceph_signal "$1" mon.a STOP; }
mon_resume() { ceph_signal "$1" mon.a CONT; }
osd_stop() { process_stop "$1/pids" osd.0 10; }

# A placement group whose lease for reading ran out during a pause is laggy, and where it has one OSD
# it may stay so: nobody is left to confirm the next lease, and whoever asks for its objects hangs for
# ever. It is mended by peering anew. The manager hears of it within some seconds.
osd_settle() {
  sleep 6
  osd_is_readable "$1" || ceph_cmd "$1" osd down 0
  wait_for 60 osd_is_readable "$1"
}

osd_is_readable() {
  [[ $(ceph_cmd "$1" pg ls laggy -f json | jq '.pg_stats | length') == 0 ]]
}

# In which epoch the OSD has last come up.
osd_up_from() { ceph_cmd "$1" osd dump -f json | jq '.osds[0].up_from'; }

osd_is_up_anew() { # DIR UP_FROM
  ceph_osd_is_up "$1" && [[ $(osd_up_from "$1") != "$2" ]]
}

# The monitor may still believe in the old process.
osd_start() {
  local before
  before=$(osd_up_from "$1")
  ceph_daemon "$1" osd 0
  wait_for 60 osd_is_up_anew "$1" "$before"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  case ${1:-} in
    ceph_up)
      CEPH_HALF_MADE=${2:?which folder?}
      trap 'ceph_down "$CEPH_HALF_MADE"' EXIT # failed or interrupted half-way
      signals_trap
      "$@"
      trap - EXIT
      ;;
    ceph_down | ceph_pool | ceph_real_pace | osd_pause | osd_resume | osd_settle | osd_stop | osd_start | \
      mon_pause | mon_resume) "$@" ;;
    *) die "usage: $0 FUNCTION DIR …, with a function of the list in its header" ;;
  esac
fi
