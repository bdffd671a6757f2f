# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Container images without a registry: archives that containerd takes in.
#
#   image_static ARCHIVE NAME PROGRAM       a static program, which is what it runs
#   image_busybox ARCHIVE NAME              a shell and its tools
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

# image_of_folder ARCHIVE NAME FOLDER COMMAND…
image_of_folder() {
  local archive=$1 name=$2 folder=$3 container
  shift 3
  container=$(image_buildah from scratch)
  image_buildah add --quiet "$container" "$folder" /
  image_buildah config --entrypoint "$(jq -nc '$ARGS.positional' --args "$@")" "$container"
  image_buildah commit --quiet --rm --disable-compression "$container" \
    "docker-archive:$archive:$name"
}

image_static() { # ARCHIVE NAME PROGRAM
  local folder=$SCRATCH/image-${3##*/}
  mkdir -p "$folder"
  cp "$3" "$folder/"
  image_of_folder "$1" "$2" "$folder" "/${3##*/}"
  rm -rf "$folder"
}

image_busybox() { # ARCHIVE NAME
  local folder=$SCRATCH/image-busybox applet
  mkdir -p "$folder"/{bin,tmp,etc}
  cp /bin/busybox "$folder/bin/"
  for applet in $(/bin/busybox --list); do
    [[ $applet == busybox ]] || ln -s busybox "$folder/bin/$applet"
  done
  image_of_folder "$1" "$2" "$folder" /bin/sleep infinity
  rm -rf "$folder"
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
