# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Test tools written in Go, built once from pinned modules.
#
# Each folder in tests/env/gotools/ is a module whose go.sum is committed, so no checksum database
# is asked, and the proxy is whatever Go is set up to use; a file ldflags beside it holds further
# flags for the linker. Programs land in the user's cache, in a folder named after the hash of these
# files and the Go version: the first run pays, later ones and other checkouts do not. Two runs at
# once are fine: one builds under a lock, and a program appears complete or not at all.
#
# Debian 12 has Go 1.19. A newer one is itself a module (golang.org/toolchain), and 1.19 is enough
# to fetch and verify it; nothing outside Debian and the module proxy is needed.

GO_WANTED=1.25 # what the modules' "go" lines ask for
GOTOOLS_DIR=$ROOT/tests/env/gotools
GOTOOLS_CACHE=$CACHE/gotools

# Checked against go.sum alone; never another toolchain than the one chosen here.
GO_ENVIRONMENT=(GOSUMDB=off GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0)

# gotool MODULE PROGRAM PACKAGE: the path of the built program, in REPLY.
gotool() {
  local module=$1 program=$2 package=$3 folder
  gotool_folder "$module"
  folder=$REPLY
  go_find
  gotools_once "$folder" "$program" gotool_build "$REPLY" "$GOTOOLS_DIR/$module" "$program" "$package"
}

# gotool_folder MODULE: where its programs go, in REPLY.
gotool_folder() {
  local files=("$GOTOOLS_DIR/$1"/go.{mod,sum}) key
  [[ ! -e $GOTOOLS_DIR/$1/ldflags ]] || files+=("$GOTOOLS_DIR/$1/ldflags")
  [[ ! -e $GOTOOLS_DIR/$1/main.go ]] || files+=("$GOTOOLS_DIR/$1/main.go") # a program of our own
  go_find
  key=$({ cat "${files[@]}" && "$REPLY" version; } | sha256sum | cut -c 1-16)
  REPLY=$GOTOOLS_CACHE/$1-$key
}

# gotool_files MODULE NAME DEPENDENCY FILE…: a folder of files that a module of the tools' sources
# holds, in REPLY.
gotool_files() {
  local module=$1 name=$2 folder
  shift 2
  gotool_folder "$module"
  folder=$REPLY
  go_find
  gotools_once "$folder" "$name" gotool_fetch "$REPLY" "$GOTOOLS_DIR/$module" "$@"
}

# gotools_once FOLDER PROGRAM COMMAND…: makes FOLDER/PROGRAM by `COMMAND… DESTINATION` unless it is
# there. FOLDER/PROGRAM in REPLY.
gotools_once() {
  local folder=$1 program=$2 lock
  shift 2
  if [[ ! -e $folder/$program ]]; then
    mkdir -p "$folder"
    exec {lock}>"$folder.lock"
    flock "$lock"
    if [[ ! -e $folder/$program ]]; then
      rm -rf "$folder/.part.$program"*
      "$@" "$folder/.part.$program"
      mv -T "$folder/.part.$program" "$folder/$program"
    fi
    exec {lock}>&-
  fi
  REPLY=$folder/$program
}

gotool_build() { # GO MODULE_DIR PROGRAM PACKAGE DESTINATION
  local ldflags='-s -w'
  [[ ! -e $2/ldflags ]] || ldflags+=" $(tr '\n' ' ' <"$2/ldflags")"
  process_must "go-build-$3" env -C "$2" "${GO_ENVIRONMENT[@]}" \
    GOFLAGS='-mod=readonly -buildvcs=false' "$1" build -trimpath -ldflags="$ldflags" -o "$5" "$4"
}

gotool_fetch() { # GO MODULE_DIR DEPENDENCY FILE… DESTINATION
  local go=$1 module_dir=$2 dependency=$3 destination=${!#} sources
  set -- "${@:4:$#-4}"
  process_must go-download env -C "$module_dir" "${GO_ENVIRONMENT[@]}" GOFLAGS=-mod=readonly \
    "$go" mod download "$dependency"
  sources=$(env -C "$module_dir" "${GO_ENVIRONMENT[@]}" GOFLAGS=-mod=readonly \
    "$go" list -m -f '{{.Dir}}' "$dependency")
  mkdir "$destination"
  cp -t "$destination" "${@/#/$sources/}"
  chmod -R u+w "$destination"
}

# go_find: a Go that is new enough, in REPLY: the one on PATH, or the pinned toolchain.
go_find() {
  local found key
  if found=$(command -v go) && go_is_enough "$found"; then
    REPLY=$found
    return 0
  fi
  key=$(sha256sum <"$GOTOOLS_DIR/toolchain/go.sum" | cut -c 1-16)
  gotools_once "$GOTOOLS_CACHE/toolchain-$key" go go_fetch
  REPLY=$REPLY/bin/go
}

go_is_enough() { # GO
  local version
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  printf '%s\n%s\n' "$GO_WANTED" "${version#go}" | sort -V -C
}

# go_fetch DESTINATION: downloads the toolchain with Debian's Go. A module carries neither file
# modes nor nested go.mod files (they come as _go.mod); both are put right as the go command itself
# does it.
go_fetch() {
  local destination=$1 go=/usr/lib/go-1.19/bin/go modules=$1.modules machine version
  [[ -x $go ]] || packages_install golang-1.19-go
  machine=$(dpkg --print-architecture)
  version=$(sed -n "s|^golang.org/toolchain \(v[^ /]*\.linux-$machine\) .*|\1|p" \
    "$GOTOOLS_DIR/toolchain/go.sum")
  [[ -n $version ]] || die "no Go toolchain is pinned for $machine"
  rm -rf "$modules"
  process_must go-download env -C "$GOTOOLS_DIR/toolchain" "${GO_ENVIRONMENT[@]}" \
    GOFLAGS='-mod=readonly -modcacherw' GOMODCACHE="$modules" \
    "$go" mod download "golang.org/toolchain@$version"
  mv -T "$modules/golang.org/toolchain@$version" "$destination"
  rm -rf "$modules"
  chmod -R a+x "$destination/bin" "$destination/pkg/tool"
  cp "$destination/src/_go.mod" "$destination/src/go.mod"
  cp "$destination/src/cmd/_go.mod" "$destination/src/cmd/go.mod"
}
