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
