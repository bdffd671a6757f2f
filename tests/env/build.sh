# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds by CMake preset into build/PRESET.

# build_preset PRESET [TARGET…]: as a step; all targets without a name. One build a folder at a time:
# another copy waits and then finds it done.
build_preset() {
  step "Build ($1)" build_locked "$@"
}

# What one checkout has built, another one need not: paths below the root are hashed as relative.
export CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=true

build_locked() {
  local preset=$1 lock launcher=()
  shift
  mkdir -p "$ROOT/build"
  exec {lock}>"$ROOT/build/.$preset.lock"
  flock "$lock"
  ! command -v ccache >/dev/null || launcher=(-D CMAKE_C_COMPILER_LAUNCHER=ccache)
  process_must "configure-$preset" env -C "$ROOT" cmake --preset "$preset" "${launcher[@]}"
  process_must "build-$preset" cmake --build "$ROOT/build/$preset" --parallel "$(nproc)" \
    ${1:+--target "$@"}
  exec {lock}>&-
}
