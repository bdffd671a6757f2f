#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: image formats, as qemu-img reads them, under the address and undefined-behaviour sanitizers

source "$(dirname "$(realpath "$0")")/../env.sh"

export PRESET=asan
build_preset $PRESET
pytest_run "$ROOT/tests/format"
