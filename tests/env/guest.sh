# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A virtual machine's kernel and initramfs: Debian's kernel, which has rbd and nbd where the host's
# has not, with imprint-node and what it runs, and nothing else. tests/lib/guest.py boots it.

GUEST_MODULES=(virtio_pci virtio_net ext4 xfs rbd nbd loop)
GUEST_PROGRAMS=(/usr/bin/rbd-nbd /usr/bin/socat /usr/sbin/mkfs.ext4 /usr/sbin/fsck.ext4
  /usr/sbin/resize2fs /usr/sbin/mkfs.xfs /usr/sbin/xfs_growfs /usr/sbin/xfs_io)

# guest_files PRESET DIR [FAULTY]: makes DIR/vmlinuz and DIR/initrd. FAULTY is an imprint-node that
# can be killed behind each step, and is imprint-node-faults there.
guest_files() {
  local preset=$1 dir=$2 faulty=${3:-} root=$2/root kernel
  mkdir -p "$dir" "$root"/{bin,dev,proc,sys,etc,run,tmp,lib/modules}
  debian_kernel
  kernel=$REPLY
  cp "$kernel"/boot/vmlinuz-* "$dir/vmlinuz"
  debian_kernel_modules "$kernel" "$root/lib/modules" "${GUEST_MODULES[@]}"
  # shellcheck disable=SC2153
  guest_programs "$root" "$ROOT/build/$preset/nodeplugin/imprint-node"
  [[ -z $faulty ]] || cp "$faulty" "$root/usr/bin/imprint-node-faults"
  cp "$ROOT/tests/vm/init" "$root/init"
  (cd "$root" && find . | cpio --quiet -o -H newc) >"$dir/initrd"
  rm -rf "$root"
}

# guest_programs ROOT NODE_PLUGIN: the programs, and the libraries that each of them loads.
guest_programs() {
  local root=$1 program library
  cp /bin/busybox "$root/bin/"
  for program in "$2" "${GUEST_PROGRAMS[@]}"; do
    mkdir -p "$root/usr/bin"
    cp -L "$program" "$root/usr/bin/"
    while read -r library; do
      mkdir -p "$root$(dirname "$library")"
      [[ -e $root$library ]] || cp -L "$library" "$root$library"
    done < <(ldd "$program" | grep -o '/[^ ]*')
  done
  # librados loads these by name
  mkdir -p "$root/usr/lib/x86_64-linux-gnu/ceph"
  cp -rL /usr/lib/x86_64-linux-gnu/ceph/. "$root/usr/lib/x86_64-linux-gnu/ceph/" 2>/dev/null || true
  cp -L /etc/mke2fs.conf "$root/etc/"
}
