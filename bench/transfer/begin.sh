# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What `./dev bench import` and `./dev bench export` begin with: sourced by bench/import.sh and
# bench/export.sh.
#
# The images are made once and kept in the cache folder, some 7 GB. Peers come from $IMPRINT_PEERS,
# by default ../shared/peers beside the checkout; see cdi-import.sh there.

export CEPH_BLOCK_GIB=10 # an OSD writes to all of its disk in time, so that much is taken here
source "$(dirname "${BASH_SOURCE[0]}")/../../tests/env/env.sh"

export PEERS=${IMPRINT_PEERS:-$ROOT/../shared/peers} IMAGES=$CACHE/bench-images POOL=bench
FILLED_OBJECTS=2100 # of 4 MiB

# The OSD's disk is a sparse file: where it was never written to, writing is slower, by chance for
# one program and not for the other.
fill_disk() {
  local bench=(-p "$POOL" --run-name fill)
  ceph_pool "$CEPH_DIR" "$POOL"
  rados "${bench[@]}" bench 120 write -t 16 -b 4194304 --max-objects $FILLED_OBJECTS --no-cleanup
  rados "${bench[@]}" cleanup
}

build_preset release
step 'Make images' "$PYTHON" "$ROOT/bench/transfer/images.py" "$IMAGES"
ceph_ready
step 'Write once to all of the disk' fill_disk
