#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A private container registry: Debian's docker-registry on a free port of 127.0.0.1.
#
# Everything lives in DIR, so copies run side by side. Source it for the functions, or run it:
# `registry.sh registry_up DIR tls` (that is how Python tests call it).
#
#   registry_up DIR [WISH…]   a running registry; DIR/host holds its host and port
#   registry_down DIR         stops it by pid and removes DIR
#
# What it can be wished for: `tls`, a certificate of a CA of its own (DIR/ca.pem); `password`, the
# user "tester" with the password "wonder land"; `token REALM CERTIFICATE`, tokens of the server at
# that URL, signed with the key of that certificate.

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -euo pipefail
  REGISTRY_SH_DIR=$(dirname "$(realpath "$0")")
  for REGISTRY_SH_PART in console signals process ports; do
    # shellcheck disable=SC1090
    source "$REGISTRY_SH_DIR/$REGISTRY_SH_PART.sh"
  done
fi

REGISTRY_START_TRIES=5 # with another port each time
REGISTRY_USER=tester
REGISTRY_PASSWORD='wonder land'
REGISTRY_SERVICE=imprint-test # what tokens are for
REGISTRY_ISSUER=imprint-token

# registry_certificates DIR: a CA, and a certificate of 127.0.0.1 that it signed.
registry_certificates() {
  local dir=$1
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj '/CN=tests of imprint' -keyout "$dir/ca.key" -out "$dir/ca.pem"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=127.0.0.1' \
    -keyout "$dir/tls.key" -out "$dir/tls.csr"
  openssl x509 -req -in "$dir/tls.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial \
    -days 2 -extfile <(echo 'subjectAltName = IP:127.0.0.1') -out "$dir/tls.pem"
}

# registry_passwords: an htpasswd file; docker-registry takes bcrypt only.
registry_passwords() {
  "${PYTHON:-/usr/bin/python3}" - "$REGISTRY_USER" "$REGISTRY_PASSWORD" <<'PYTHON'
import sys
import bcrypt

user, password = sys.argv[1:]
print(f"{user}:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds=4)).decode()}")
PYTHON
}

# registry_conf DIR PORT [WISH…]
registry_conf() {
  local dir=$1 port=$2
  shift 2
  cat <<CONF
version: 0.1
log: {level: warn}
storage:
  filesystem: {rootdirectory: $dir/data}
  delete: {enabled: true}
CONF
  local auth='' tls=''
  while (($#)); do
    case $1 in
      tls) tls=", tls: {certificate: $dir/tls.pem, key: $dir/tls.key}" ;;
      password) auth="auth: {htpasswd: {realm: tests, path: $dir/htpasswd}}" ;;
      token)
        auth="auth: {token: {realm: '$2', service: $REGISTRY_SERVICE, issuer: $REGISTRY_ISSUER"
        auth+=", rootcertbundle: '$3'}}"
        shift 2
        ;;
      *) die "registry: '$1' cannot be wished for" ;;
    esac
    shift
  done
  printf 'http: {addr: "127.0.0.1:%s"%s}\n%s\n' "$port" "$tls" "$auth"
}

registry_settled() { # DIR PORT: it serves, or it is gone
  { : 2>/dev/null <>"/dev/tcp/127.0.0.1/$2"; } 2>/dev/null || ! process_pid "$1/pids" registry
}

# registry_up DIR [WISH…]
registry_up() {
  local dir try port
  dir=$(realpath -m "$1")
  shift
  mkdir -p "$dir"
  chmod 0700 "$dir" # keys
  mkdir "$dir"/{pids,log,data}
  [[ " $* " != *' tls '* ]] || registry_certificates "$dir"
  [[ " $* " != *' password '* ]] || registry_passwords >"$dir/htpasswd"
  for ((try = 0; try < REGISTRY_START_TRIES; try++)); do
    ports_block 1
    port=$REPLY
    registry_conf "$dir" "$port" "$@" >"$dir/config.yml"
    printf '127.0.0.1:%s\n' "$port" >"$dir/host"
    process_start "$dir/pids" registry "$dir/log/registry.log" docker-registry serve "$dir/config.yml"
    wait_for 20 registry_settled "$dir" "$port"
    process_pid "$dir/pids" registry && return 0
  done
  echo "the registry did not start in $REGISTRY_START_TRIES tries"
  tail -n 5 "$dir/log/registry.log"
  return 1
}

# registry_down DIR: also of one that was never completed.
registry_down() {
  local dir
  dir=$(realpath -m "$1")
  [[ -d $dir/pids ]] || return 0
  process_stop "$dir/pids" registry 10 || true
  [[ -n ${KEEP:-} ]] || rm -rf -- "$dir"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  case ${1:-} in
    registry_up)
      REGISTRY_HALF_MADE=${2:?which folder?}
      trap 'registry_down "$REGISTRY_HALF_MADE"' EXIT # failed or interrupted half-way
      signals_trap
      "$@"
      trap - EXIT
      ;;
    registry_down) "$@" ;;
    *) die "usage: $0 registry_up DIR [WISH…] | registry_down DIR" ;;
  esac
fi
