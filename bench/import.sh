#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: a disk of 10 GiB into RBD, beside qemu-img, rbd import, CDI and bare librbd [--quick] [--rounds N] [--only TEXT] [--json]

source "$(dirname "$(realpath "$0")")/transfer/begin.sh"

[[ -x $PEERS/cdi-import.sh ]] ||
  echo "  CDI is left out: there is no $PEERS/cdi-import.sh; IMPRINT_PEERS says where else" >&2
process_must compare "$PYTHON" "$ROOT/bench/transfer" import "$@"
