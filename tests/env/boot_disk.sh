# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A small disk that a virtual machine boots from by itself: a boot loader, Debian's kernel, and
# busybox as the rest. Its first process tells on the serial line what it found, counts its boots in
# the disk's last sector, and turns the machine off.

BOOT_DISK_MODULES=(virtio_pci virtio_blk)
BOOT_DISK_MIB=64

# boot_disk FILE MARKER: a raw image; MARKER is what it says of itself.
boot_disk() {
  local file=$1 marker=$2 work=$1.work kernel
  mkdir -p "$work"
  debian_kernel
  kernel=$REPLY
  boot_disk_initrd "$kernel" "$marker" "$work"
  cp "$kernel"/boot/vmlinuz-* "$work/vmlinuz"
  cat >"$work/syslinux.cfg" <<CONFIG
default linux
label linux
  kernel vmlinuz
  initrd initrd
  append console=ttyS0 quiet panic=-1
CONFIG
  rm -f "$file"
  truncate -s "${BOOT_DISK_MIB}M" "$file"
  # a file system without partitions, which leaves the end of the disk alone
  mkfs.vfat --mbr=n -F 16 -n IMPRINT "$file" $(((BOOT_DISK_MIB - 1) * 1024))
  mcopy -i "$file" "$work/vmlinuz" "$work/initrd" "$work/syslinux.cfg" ::/
  syslinux --install "$file"
  rm -rf "$work"
}

boot_disk_initrd() { # KERNEL MARKER WORK: WORK/initrd
  local kernel=$1 marker=$2 work=$3 root=$3/root
  mkdir -p "$root"/{bin,dev,proc,sys,modules}
  cp /bin/busybox "$root/bin/"
  debian_kernel_modules "$kernel" "$root/modules" "${BOOT_DISK_MODULES[@]}"
  cat >"$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/\$module"; done </modules/order
last=\$((\$(cat /sys/block/vda/size) - 1))
boots=\$(dd if=/dev/vda bs=512 skip=\$last count=1 2>/dev/null | tr -d '\\0')
boots=\$((\${boots:-0} + 1))
echo "\$boots" | dd of=/dev/vda bs=512 seek=\$last conv=sync,fsync 2>/dev/null
echo "$marker: boot \$boots, Linux \$(uname -r), up for \$(cut -d ' ' -f 1 /proc/uptime) s, disk \$(cat /sys/block/vda/serial)"
poweroff -f
INIT
  chmod +x "$root/init"
  (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initrd"
}
