# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian packages: what is missing is installed, and a machine that has all costs one dpkg-query.

PACKAGES_FILE=$ROOT/tests/env/packages.txt

# packages_missing PACKAGE…: those not installed, in MISSING.
packages_missing() {
  local installed package
  # fails when it does not know a package, and still prints the others
  installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' "$@" 2>/dev/null || true)"
  MISSING=()
  for package in "$@"; do
    [[ $installed == *" installed=$package "* ]] || MISSING+=("$package")
  done
}

# packages_quietly COMMAND…: servers that come with a package (nginx) are not started on this
# machine; tests run their own.
packages_quietly() {
  local policy=/usr/sbin/policy-rc.d
  if [[ -e $policy ]]; then # the machine has an opinion of its own
    "$@"
    return
  fi
  at_exit rm -f "$policy"
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 0755 "$policy"
  "$@"
  rm -f "$policy"
}

# packages_install PACKAGE…: installs what is missing of them.
packages_install() {
  local apt=(apt-get -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)
  packages_missing "$@"
  ((${#MISSING[@]})) || return 0
  ((EUID == 0)) || die "as root: apt-get install --no-install-recommends ${MISSING[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${apt[@]}" update
  packages_quietly "${apt[@]}" install --no-install-recommends "${MISSING[@]}"
}

# packages_ready: everything in packages.txt, with a line on the screen only when something is
# missing.
packages_ready() {
  local packages
  mapfile -t packages < <(awk '/^[a-z]/ { print $1 }' "$PACKAGES_FILE")
  packages_missing "${packages[@]}"
  if ((${#MISSING[@]})); then
    step "Install ${#MISSING[@]} Debian packages" packages_install "${MISSING[@]}"
  fi
}
