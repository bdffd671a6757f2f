#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the same disk out of RBD, beside qemu-img, rbd export and bare librbd [--quick] [--rounds N] [--only TEXT] [--json]

source "$(dirname "$(realpath "$0")")/transfer/begin.sh"

process_must compare "$PYTHON" "$ROOT/bench/transfer" export "$@"
