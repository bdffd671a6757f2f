# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every command, group and benchmark begins with: strict mode, ROOT, all helpers, a scratch
# folder.

set -euo pipefail
shopt -s inherit_errexit

ROOT=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
export ROOT
# what outlives a run: built tools, the playground
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/imprint
export LC_ALL=C.UTF-8 # sort orders and messages do not depend on the person

for ENV_PART in console signals process scratch ports packages sources build ceph radosgw \
  controller playground debian_kernel gotools kube_identity kube kube_chart kubelet \
  report runners; do
  # shellcheck disable=SC1090
  source "$ROOT/tests/env/$ENV_PART.sh"
done

PYTHON=/usr/bin/python3 # Debian's: another one on PATH lacks Debian's modules
export PYTHON PYTHONDONTWRITEBYTECODE=1

scratch_open
