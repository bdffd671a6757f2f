/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/probe.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "populator/format/bytes.h"

#define MAGIC(text) (text), sizeof(text) - 1

/* In the order in which they are tried. */
static const struct {
  size_t offset;
  const char *magic;
  size_t magic_len;
  enum probe_format format;
  const char *name;
} magics[] = {
    {0, MAGIC("QFI\xfb\0\0\0\1"), PROBE_UNSUPPORTED, "qcow (version 1)"},
    {0, MAGIC("QFI\xfb"), PROBE_QCOW2, "qcow2"},
    {0, MAGIC("QED\0"), PROBE_QED, "qed"},
    {0, MAGIC("KDMV"), PROBE_VMDK, "vmdk"},
    {0, MAGIC("COWD"), PROBE_VMDK, "vmdk"},
    {0, MAGIC("# Disk DescriptorFile"), PROBE_VMDK, "vmdk"},
    {64, MAGIC("\x7f\x10\xda\xbe"), PROBE_VDI, "vdi"},
    {0, MAGIC("conectix"), PROBE_VHD, "vhd"},
    {0, MAGIC("vhdxfile"), PROBE_VHDX, "vhdx"},
    {0, MAGIC("LUKS\xba\xbe\0\1"), PROBE_LUKS, "luks"},
    {0, MAGIC("LUKS\xba\xbe\0\2"), PROBE_LUKS, "luks"},
    {0, MAGIC("\x1f\x8b"), PROBE_GZIP, "gzip"},
    {0, MAGIC("\xfd\x37zXZ\0"), PROBE_XZ, "xz"},
    {0, MAGIC("\x28\xb5\x2f\xfd"), PROBE_ZSTD, "zstd"},
    {4, MAGIC("1AY&SY"), PROBE_UNSUPPORTED, "bzip2"},
    {0, MAGIC("\x04\x22\x4d\x18"), PROBE_UNSUPPORTED, "lz4"},
    {0, MAGIC("\x02\x21\x4c\x18"), PROBE_UNSUPPORTED, "lz4"},
    {0, MAGIC("\x1f\x9d\x90"), PROBE_UNSUPPORTED, "compress (.Z)"},
    {0, MAGIC("\x89LZO\0\r\n\x1a\n"), PROBE_UNSUPPORTED, "lzop"},
    {0, MAGIC("LZIP\1"), PROBE_UNSUPPORTED, "lzip"},
    {0, MAGIC("PK\3\4"), PROBE_UNSUPPORTED, "zip"},
    {0, MAGIC("7z\xbc\xaf\x27\x1c"), PROBE_UNSUPPORTED, "7z"},
    {0, MAGIC("Rar!\x1a\7"), PROBE_UNSUPPORTED, "rar"},
    {0, MAGIC("!<arch>\n"), PROBE_UNSUPPORTED, "ar"},
    {0, MAGIC("07070"), PROBE_UNSUPPORTED, "cpio"},
    {0, MAGIC("MSWIM\0\0\0"), PROBE_UNSUPPORTED, "WIM"},
    {0, MAGIC("VMA\0\0\0\0\1"), PROBE_UNSUPPORTED, "VMA (a backup of Proxmox)"},
    {0, MAGIC("partclone-image"), PROBE_UNSUPPORTED, "partclone"},
    {0, MAGIC("WithoutFreeSpace"), PROBE_UNSUPPORTED, "parallels"},
    {0, MAGIC("WithouFreSpacExt"), PROBE_UNSUPPORTED, "parallels"},
    {0, MAGIC("Bochs Virtual HD Image"), PROBE_UNSUPPORTED, "bochs"},
    {0, MAGIC("\x3a\xff\x26\xed"), PROBE_UNSUPPORTED, "android sparse"},
};

/* How a raw disk can be told, in the order in which they are tried: a disk with a GPT has an MBR
 * too, and so may a CD that also boots from a stick. */
static const struct {
  size_t offset;
  const char *magic;
  size_t magic_len;
  const char *detail;
} disks[] = {
    {32769, MAGIC("CD001"), "ISO 9660"},
    {512, MAGIC("EFI PART"), "GPT"},
    {4096, MAGIC("EFI PART"), "GPT"},
    {510, MAGIC("\x55\xaa"), "MBR"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool
stands_at(const char *bytes, size_t len, size_t offset, const char *magic, size_t magic_len)
{
  return len >= offset + magic_len && memcmp(bytes + offset, magic, magic_len) == 0;
}

/* A zstd file may begin with frames that hold no data. Where these go on behind the bytes at hand,
 * the data is believed to follow. */
static bool
is_zstd_behind_skippable_frames(const char *bytes, size_t len)
{
  size_t at = 0;
  while (len - at >= 8 && (bytes_le32(bytes + at) & 0xfffffff0) == 0x184d2a50) {
    uint32_t frame = bytes_le32(bytes + at + 4);
    if (frame > len - at - 8)
      return true;
    at += 8 + (size_t)frame;
  }
  return at > 0 && len - at >= 4 && bytes_le32(bytes + at) == 0xfd2fb528;
}

#define LZMA_HEAD 13
#define LZMA_PROPERTIES 0x5d /* of every file that lzma and xz make */
#define LZMA_DICTIONARY_MIN (1U << 12)
#define LZMA_SIZE_UNKNOWN UINT64_MAX
#define LZMA_SIZE_MAX ((uint64_t)1 << 38)

/* The predecessor of xz has no magic: a byte, the size of its dictionary, which is 2^n or 2^n +
 * 2^(n-1), and that of what is inside. */
static bool
is_lzma(const char *bytes, size_t len)
{
  if (len < LZMA_HEAD || (unsigned char)bytes[0] != LZMA_PROPERTIES)
    return false;
  uint32_t dictionary = bytes_le32(bytes + 1);
  uint64_t size = bytes_le64(bytes + 5);
  uint32_t rest = dictionary & (dictionary - 1); /* without its lowest bit */
  bool is_usual = rest == 0 || rest == (dictionary ^ rest) << 1;
  return dictionary >= LZMA_DICTIONARY_MIN && is_usual &&
         (size == LZMA_SIZE_UNKNOWN || size < LZMA_SIZE_MAX);
}

#define TAR_BLOCK 512
#define TAR_CHECKSUM 148
#define TAR_CHECKSUM_LEN 8

/* Old archives have no magic, but each header has a checksum. */
static bool
is_tar(const char *bytes, size_t len)
{
  if (len < TAR_BLOCK || bytes[0] == '\0')
    return false;
  unsigned expected = 0, digits = 0;
  const char *field = bytes + TAR_CHECKSUM;
  size_t i = 0;
  while (i < TAR_CHECKSUM_LEN && field[i] == ' ')
    i++;
  for (; i < TAR_CHECKSUM_LEN && field[i] >= '0' && field[i] <= '7'; i++, digits++)
    expected = expected * 8 + (unsigned)(field[i] - '0');
  if (digits == 0 || (i < TAR_CHECKSUM_LEN && field[i] != ' ' && field[i] != '\0'))
    return false;
  unsigned sum = 0;
  for (i = 0; i < TAR_BLOCK; i++) {
    bool is_field = i >= TAR_CHECKSUM && i < TAR_CHECKSUM + TAR_CHECKSUM_LEN;
    sum += is_field ? ' ' : (unsigned char)bytes[i];
  }
  return sum == expected;
}

static bool
starts_in_any_case(const char *bytes, size_t len, const char *lower)
{
  size_t i = 0;
  while (lower[i] && i < len && tolower((unsigned char)bytes[i]) == lower[i])
    i++;
  return !lower[i];
}

/* A page that a server sent in place of the image. */
static bool
is_markup(const char *bytes, size_t len)
{
  size_t at = stands_at(bytes, len, 0, MAGIC("\xef\xbb\xbf")) ? 3 : 0;
  while (at < len && isspace((unsigned char)bytes[at]))
    at++;
  bytes += at;
  len -= at;
  return starts_in_any_case(bytes, len, "<!doctype html") ||
         starts_in_any_case(bytes, len, "<html") || starts_in_any_case(bytes, len, "<?xml");
}

void
probe_bytes(const void *data, size_t len, struct probe *ret_probe)
{
  const char *bytes = data;
  for (size_t i = 0; i < COUNT(magics); i++) {
    if (stands_at(bytes, len, magics[i].offset, magics[i].magic, magics[i].magic_len)) {
      *ret_probe = (struct probe){.format = magics[i].format, .name = magics[i].name};
      return;
    }
  }
  if (is_zstd_behind_skippable_frames(bytes, len)) {
    *ret_probe = (struct probe){.format = PROBE_ZSTD, .name = "zstd"};
    return;
  }
  if (is_lzma(bytes, len)) {
    *ret_probe = (struct probe){.format = PROBE_UNSUPPORTED, .name = "lzma"};
    return;
  }
  if (is_tar(bytes, len)) {
    *ret_probe = (struct probe){.format = PROBE_TAR, .name = "tar"};
    return;
  }
  if (is_markup(bytes, len)) {
    *ret_probe = (struct probe){.format = PROBE_UNSUPPORTED, .name = "HTML or XML text"};
    return;
  }
  *ret_probe = (struct probe){.format = PROBE_RAW, .name = "raw"};
  for (size_t i = 0; !ret_probe->detail && i < COUNT(disks); i++) {
    if (stands_at(bytes, len, disks[i].offset, disks[i].magic, disks[i].magic_len))
      ret_probe->detail = disks[i].detail;
  }
}

bool
probe_is_compressed(enum probe_format format)
{
  return format == PROBE_GZIP || format == PROBE_XZ || format == PROBE_ZSTD;
}

bool
probe_is_foreign(enum probe_format format)
{
  return format == PROBE_VMDK || format == PROBE_VDI || format == PROBE_VHD ||
         format == PROBE_VHDX || format == PROBE_QED;
}

int
probe_refuse(const struct probe *probe, struct error **err)
{
  if (probe->format == PROBE_LUKS)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the image is encrypted (LUKS), which cannot be imported: decrypt it first");
  return error_set(err, ERROR_INVALID_ARGUMENT, "the image is %s, which cannot be imported",
                   probe->name);
}

#define VHD_DISK_TYPE 60
#define VHD_CHECKSUM 64
#define VHD_FIXED 2

bool
probe_is_vhd_footer(const void *footer, size_t len)
{
  const unsigned char *bytes = footer;
  if (len != PROBE_FOOTER_BYTES || memcmp(bytes, "conectix", 8) != 0 ||
      bytes_be32(bytes + VHD_DISK_TYPE) != VHD_FIXED)
    return false;
  uint32_t sum = 0;
  for (size_t i = 0; i < PROBE_FOOTER_BYTES; i++)
    sum += i >= VHD_CHECKSUM && i < VHD_CHECKSUM + 4 ? 0 : bytes[i];
  return ~sum == bytes_be32(bytes + VHD_CHECKSUM);
}
