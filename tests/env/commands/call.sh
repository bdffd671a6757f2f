#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev call METHOD [JSON]
#: One CSI call to the playground; the answer as JSON.
#:
#: METHOD is an RPC of proto/csi.proto, JSON its request. For example:
#:   ./dev call Probe
#:   ./dev call ListVolumes '{"max_entries": 10}'

source "$(dirname "$(realpath "$0")")/../env.sh"

playground_need
"$PYTHON" "$ROOT/tests/lib/csi.py" "$PLAYGROUND/csi.sock" "$@"
