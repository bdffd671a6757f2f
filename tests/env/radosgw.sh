#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An S3 store on the private Ceph of ceph.sh: one radosgw, plain and TLS, on free ports.
#
# Everything lives in the cluster's folder. Source it for the functions, or run it:
# `radosgw.sh radosgw_up DIR`.
#
#   radosgw_up DIR     a running gateway; DIR/s3.json tells its endpoints, keys and certificate
#   radosgw_down DIR   stops it by pid; the cluster keeps what it stored
#
# Buckets are reached by path, and by host name below s3.localhost, which curl takes for this
# machine. Session tokens (STS) can be had.

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  RADOSGW_SH_DIR=$(dirname "$(realpath "$0")")
  for RADOSGW_SH_PART in console signals process ports ceph; do
    # shellcheck disable=SC1090
    source "$RADOSGW_SH_DIR/$RADOSGW_SH_PART.sh"
  done
fi

RADOSGW_START_TRIES=5 # with other ports each time
RADOSGW_ACCESS_KEY=imprint-access
RADOSGW_SECRET_KEY=imprint-secret/with+signs

# radosgw_keys DIR: the gateway's own key, and its certificate, which is its own CA.
radosgw_keys() {
  local dir=$1
  (
    umask 077
    ceph_cmd "$dir" auth get-or-create client.rgw.x mon 'allow rw' osd 'allow rwx' \
      >"$dir/rgw.keyring"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=radosgw \
      -addext subjectAltName=IP:127.0.0.1,DNS:s3.localhost,DNS:*.s3.localhost \
      -keyout "$dir/rgw.key" -out "$dir/rgw.pem"
  )
}

# radosgw_start DIR PORT: plain on PORT, TLS on the next.
radosgw_start() {
  local dir=$1 port=$2
  process_start "$dir/pids" rgw.x "$dir/log/rgw.x.out" \
    radosgw -f -c "$dir/ceph.conf" -n client.rgw.x --keyring "$dir/rgw.keyring" \
    --rgw-data "$dir/rgw" --log-file "$dir/log/rgw.x.log" --rgw-dns-name s3.localhost \
    --rgw-sts-key 0123456789abcdef --rgw-s3-auth-use-sts true --rgw-enable-usage-log false \
    --rgw-frontends "beast endpoint=127.0.0.1:$port ssl_endpoint=127.0.0.1:$((port + 1)) \
ssl_certificate=$dir/rgw.pem ssl_private_key=$dir/rgw.key"
}

radosgw_settled() { # DIR PORT: it serves, or it is gone
  ceph_is_listening 127.0.0.1 "$2" || ! process_pid "$1/pids" rgw.x
}

radosgw_admin() { # DIR ARGUMENT…
  local dir=$1
  shift
  radosgw-admin -c "$dir/ceph.conf" -n client.rgw.x --keyring "$dir/rgw.keyring" "$@"
}

radosgw_describe() { # DIR PORT
  jq -n --arg dir "$1" --argjson port "$2" \
    --arg access "$RADOSGW_ACCESS_KEY" --arg secret "$RADOSGW_SECRET_KEY" \
    '{access_key: $access, secret_key: $secret, ca_bundle: ($dir + "/rgw.pem"),
      plain: "http://127.0.0.1:\($port)", tls: "https://127.0.0.1:\($port + 1)",
      by_host: "http://s3.localhost:\($port)"}'
}

# radosgw_up DIR
radosgw_up() {
  local dir try port
  dir=$(realpath -m "$1")
  mkdir -p "$dir/rgw"
  radosgw_keys "$dir"
  radosgw_admin "$dir" user create --uid=imprint --display-name=imprint \
    --access-key="$RADOSGW_ACCESS_KEY" --secret-key="$RADOSGW_SECRET_KEY" \
    --caps 'user-policy=*' >/dev/null
  for ((try = 0; try < RADOSGW_START_TRIES; try++)); do
    ports_block 2
    port=$REPLY
    radosgw_start "$dir" "$port"
    wait_for 60 radosgw_settled "$dir" "$port"
    if process_pid "$dir/pids" rgw.x; then
      radosgw_describe "$dir" "$port" >"$dir/s3.json"
      return 0
    fi
  done
  echo "radosgw did not start in $RADOSGW_START_TRIES tries"
  return 1
}

# radosgw_down DIR
radosgw_down() {
  process_stop "$(realpath -m "$1")/pids" rgw.x 10 || true
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  case ${1:-} in
    radosgw_up | radosgw_down) "$@" ;;
    *) die "usage: $0 radosgw_up|radosgw_down DIR" ;;
  esac
fi
