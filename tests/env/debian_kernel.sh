# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian's kernel for virtual machines, unpacked beside the other tools and installed nowhere.

# debian_kernel: in REPLY, the folder with boot/vmlinuz-VERSION and lib/modules/VERSION.
debian_kernel() {
  local package
  package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
  REPLY=$CACHE/kernel/$package
  [[ ! -d $REPLY ]] || return 0
  mkdir -p "$REPLY.part"
  (cd "$REPLY.part" && apt-get download "$package" && dpkg-deb -x ./*.deb . && rm ./*.deb)
  mv -T "$REPLY.part" "$REPLY"
}

# debian_kernel_modules KERNEL DIR MODULE…: copies them to DIR with all that they need; DIR/order
# names the files in the order in which they can be loaded, which is another one in each version.
debian_kernel_modules() {
  local kernel=$1 dir=$2 version module path
  version=$(ls "$kernel/lib/modules")
  shift 2
  mkdir -p "$dir"
  [[ -e $kernel/lib/modules/$version/modules.dep ]] || depmod -b "$kernel" "$version"
  for module in "$@"; do
    modprobe -d "$kernel" -S "$version" --show-depends "$module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$dir/paths"
  while read -r path; do
    cp "$path" "$dir/"
    basename "$path"
  done <"$dir/paths" >"$dir/order"
  rm "$dir/paths"
}
