# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Free TCP ports, for servers that must know their port before they start.
#
# Ports are picked at random below the ephemeral range, so neither outgoing connections nor another
# copy of the tests meets them but by rare accident. The caller tries again with other ports when
# its server cannot bind: nothing can reserve a port for another process.

PORTS_FIRST=12000
PORTS_LAST=32000

# ports_block COUNT: the first of COUNT neighbouring ports that nobody listens on, in REPLY.
ports_block() {
  local count=$1 blocks=$(((PORTS_LAST - PORTS_FIRST) / $1)) first port taken
  taken=" $(ss -Hltn | awk '{ sub(/.*:/, "", $4); print $4 }' | tr '\n' ' ') "
  while :; do
    first=$((PORTS_FIRST + (RANDOM * 32768 + RANDOM) % blocks * count))
    for ((port = first; port < first + count; port++)); do
      [[ $taken != *" $port "* ]] || continue 2
    done
    REPLY=$first
    return 0
  done
}
