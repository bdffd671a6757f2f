# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The images that the chart runs, without a registry: archives that containerd takes in.
#
#   image_imprint ARCHIVE NAME TARGET PRESET   a target of charts/images/Containerfile, with the
#                                           programs of build/PRESET
#
# What buildah makes stays in the cache, so that Debian packages are fetched once a machine.

IMAGE_DEBIAN=localhost/imprint-debian:bookworm

# image_buildah ARGUMENT…: one at a time, in a store of our own.
image_buildah() {
  mkdir -p "$CACHE/images"
  flock "$CACHE/images/lock" env BUILDAH_ISOLATION=chroot buildah --storage-driver overlay \
    --root "$CACHE/images/store" --runroot "$SCRATCH/buildah" "$@"
}

# image_debian: what Containerfile begins with, from where this machine has its packages.
image_debian() {
  local tarball=$SCRATCH/debian.tar container
  ! image_buildah inspect --type image "$IMAGE_DEBIAN" >/dev/null 2>&1 || return 0
  mmdebstrap --variant=minbase --format=tar bookworm "$tarball" - < <(
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null
  )
  container=$(image_buildah from scratch)
  image_buildah add --quiet "$container" "$tarball" /
  image_buildah commit --quiet --rm "$container" "$IMAGE_DEBIAN"
  rm -f "$tarball"
}

# image_target TARGET NAME PROGRAMS
image_target() {
  image_buildah build --quiet --layers --file "$ROOT/charts/images/Containerfile" --target "$1" \
    --build-arg "DEBIAN=$IMAGE_DEBIAN" --build-context "programs=$3" --tag "$2" "$ROOT"
}

# The packages keep a name of their own in the store, and are there the next time.
image_imprint() { # ARCHIVE NAME TARGET PRESET
  local programs=$SCRATCH/programs
  image_debian
  cmake --install "$ROOT/build/$4" --prefix "$programs/out/usr" --strip
  image_target "$3-packages" "localhost/imprint-$3-packages" "$programs"
  image_target "$3" "$2" "$programs"
  image_buildah push --quiet "$2" "docker-archive:$1:$2"
  image_buildah rmi "$2"
  rm -rf "$programs"
}
