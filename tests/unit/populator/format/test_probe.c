/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/probe.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

struct row {
  size_t offset;
  const char *bytes;
  size_t len;
  enum probe_format format;
  const char *name;
};

#define BYTES(text) (text), sizeof(text) - 1

static void
test_formats_are_told_by_their_magic(void)
{
  static const struct row rows[] = {
      {0, BYTES("QFI\xfb\0\0\0\2"), PROBE_QCOW2, "qcow2"},
      {0, BYTES("QFI\xfb\0\0\0\3"), PROBE_QCOW2, "qcow2"},
      {0, BYTES("QFI\xfb\0\0\0\x63"), PROBE_QCOW2, "qcow2"},
      {0, BYTES("QFI\xfb\0\0\0\1"), PROBE_UNSUPPORTED, "qcow (version 1)"},
      {0, BYTES("QED\0"), PROBE_QED, "qed"},
      {0, BYTES("KDMV"), PROBE_VMDK, "vmdk"},
      {0, BYTES("COWD"), PROBE_VMDK, "vmdk"},
      {0, BYTES("# Disk DescriptorFile\n"), PROBE_VMDK, "vmdk"},
      {64, BYTES("\x7f\x10\xda\xbe"), PROBE_VDI, "vdi"},
      {0, BYTES("conectix"), PROBE_VHD, "vhd"},
      {0, BYTES("vhdxfile"), PROBE_VHDX, "vhdx"},
      {0, BYTES("LUKS\xba\xbe\0\1"), PROBE_LUKS, "luks"},
      {0, BYTES("LUKS\xba\xbe\0\2"), PROBE_LUKS, "luks"},
      {0, BYTES("\x1f\x8b\x08"), PROBE_GZIP, "gzip"},
      {0, BYTES("\xfd\x37zXZ\0"), PROBE_XZ, "xz"},
      {0, BYTES("\x28\xb5\x2f\xfd"), PROBE_ZSTD, "zstd"},
      {0, BYTES("BZh91AY&SY"), PROBE_UNSUPPORTED, "bzip2"},
      {0, BYTES("\x04\x22\x4d\x18"), PROBE_UNSUPPORTED, "lz4"},
      {0, BYTES("\x02\x21\x4c\x18"), PROBE_UNSUPPORTED, "lz4"},
      {0, BYTES("\x1f\x9d\x90"), PROBE_UNSUPPORTED, "compress (.Z)"},
      {0, BYTES("\x89LZO\0\r\n\x1a\n"), PROBE_UNSUPPORTED, "lzop"},
      {0, BYTES("!<arch>\n"), PROBE_UNSUPPORTED, "ar"},
      {0, BYTES("07070"), PROBE_UNSUPPORTED, "cpio"},
      {0, BYTES("MSWIM\0\0\0"), PROBE_UNSUPPORTED, "WIM"},
      {0, BYTES("VMA\0\0\0\0\1"), PROBE_UNSUPPORTED, "VMA (a backup of Proxmox)"},
      {0, BYTES("partclone-image"), PROBE_UNSUPPORTED, "partclone"},
      {0, BYTES("PK\3\4"), PROBE_UNSUPPORTED, "zip"},
      {0, BYTES("7z\xbc\xaf\x27\x1c"), PROBE_UNSUPPORTED, "7z"},
      {0, BYTES("WithoutFreeSpace"), PROBE_UNSUPPORTED, "parallels"},
      {0, BYTES("\x3a\xff\x26\xed"), PROBE_UNSUPPORTED, "android sparse"},
      {0, BYTES("<!DOCTYPE html><html>"), PROBE_UNSUPPORTED, "HTML or XML text"},
      {0, BYTES("\xef\xbb\xbf \r\n<HTML>"), PROBE_UNSUPPORTED, "HTML or XML text"},
      {0, BYTES("<?xml version='1.0'?><Error>"), PROBE_UNSUPPORTED, "HTML or XML text"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    static char bytes[PROBE_BYTES];
    struct probe probe;
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes + rows[i].offset, rows[i].bytes, rows[i].len);
    probe_bytes(bytes, sizeof(bytes), &probe);
    CHECK_ROW(probe.format == rows[i].format, rows[i].name);
    CHECK_STRING(probe.name, rows[i].name);
    CU_ASSERT_PTR_NULL(probe.detail);
    /* as many bytes as the magic has are enough, one less is not */
    probe_bytes(bytes, rows[i].offset + rows[i].len, &probe);
    CHECK_ROW(probe.format == rows[i].format, rows[i].name);
  }
}

static void
test_disks_are_raw_and_named(void)
{
  static const struct row rows[] = {
      {510, BYTES("\x55\xaa"), PROBE_RAW, "MBR"},
      {512, BYTES("EFI PART"), PROBE_RAW, "GPT"},
      {4096, BYTES("EFI PART"), PROBE_RAW, "GPT"},
      {32769, BYTES("CD001"), PROBE_RAW, "ISO 9660"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    static char bytes[PROBE_BYTES];
    struct probe probe;
    memset(bytes, 0, sizeof(bytes));
    bytes[510] = 0x55; /* they have an MBR too */
    bytes[511] = (char)0xaa;
    memcpy(bytes + rows[i].offset, rows[i].bytes, rows[i].len);
    probe_bytes(bytes, sizeof(bytes), &probe);
    CHECK_ROW(probe.format == PROBE_RAW, rows[i].name);
    CHECK_STRING(probe.name, "raw");
    CHECK_STRING(probe.detail, rows[i].name);
  }
}

static void
test_anything_else_is_raw(void)
{
  static const struct row rows[] = {
      {0, BYTES(""), PROBE_RAW, "nothing"},
      {0, BYTES("\0"), PROBE_RAW, "a zero"},
      {0, BYTES("QFI"), PROBE_RAW, "part of a magic"},
      {0, BYTES("\x1f"), PROBE_RAW, "part of gzip's"},
      {0, BYTES(" QFI\xfb\0\0\0\3"), PROBE_RAW, "a magic in the wrong place"},
      {0, BYTES("LUKS\xba\xbe\0\3"), PROBE_RAW, "a version of LUKS that is not"},
      {0, BYTES("hello, world\n"), PROBE_RAW, "text"},
      {0, BYTES("<not a page>"), PROBE_RAW, "a bracket"},
      {0, BYTES("   "), PROBE_RAW, "blanks"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct probe probe;
    probe_bytes(rows[i].bytes, rows[i].len, &probe);
    CHECK_ROW(probe.format == PROBE_RAW, rows[i].name);
    CHECK_ROW(!probe.detail, rows[i].name);
  }
}

static void
test_zstd_is_seen_behind_skippable_frames(void)
{
  struct probe probe;
  static const char once[] = "\x50\x2a\x4d\x18\3\0\0\0abc\x28\xb5\x2f\xfd";
  static const char twice[] = "\x5f\x2a\x4d\x18\0\0\0\0\x51\x2a\x4d\x18\1\0\0\0x\x28\xb5\x2f\xfd";
  static const char far[] = "\x50\x2a\x4d\x18\xff\xff\xff\xff";
  static const char lz4[] = "\x50\x2a\x4d\x18\1\0\0\0a\x04\x22\x4d\x18";
  probe_bytes(BYTES(once), &probe);
  CHECK_NUMBER(probe.format, PROBE_ZSTD);
  probe_bytes(BYTES(twice), &probe);
  CHECK_NUMBER(probe.format, PROBE_ZSTD);
  probe_bytes(BYTES(far), &probe);
  CHECK_NUMBER(probe.format, PROBE_ZSTD);
  probe_bytes(BYTES(lz4), &probe);
  CHECK_NUMBER(probe.format, PROBE_RAW);
}

static void
test_lzma_is_told_by_its_numbers(void)
{
  static const struct {
    const char *bytes;
    bool is_lzma;
  } rows[] = {
      {"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff", true}, /* as xz writes it */
      {"\x5d\0\0\xc0\0\xff\xff\xff\xff\xff\xff\xff\xff", true},
      {"\x5d\0\0\0\4\1\2\3\4\0\0\0\0", true}, /* of known size */
      {"\x5d\0\0\xa0\0\xff\xff\xff\xff\xff\xff\xff\xff", false},
      {"\x5d\0\0\xe0\0\xff\xff\xff\xff\xff\xff\xff\xff", false},
      {"\x5d\0\1\0\0\xff\xff\xff\xff\xff\xff\xff\xff", false}, /* too small */
      {"\x5d\0\0\x80\0\0\0\0\0\0\0\0\1", false},               /* 64 PiB */
      {"\x5d\0\0\0\0\0\0\0\0\0\0\0\0", false},
      {"\x5c\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff", false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct probe probe;
    probe_bytes(rows[i].bytes, 13, &probe);
    CHECK_NUMBER(probe.format, rows[i].is_lzma ? PROBE_UNSUPPORTED : PROBE_RAW);
    probe_bytes(rows[i].bytes, 12, &probe);
    CHECK_NUMBER(probe.format, PROBE_RAW);
  }
}

static void
make_tar(char block[512], const char *magic)
{
  memset(block, 0, 512);
  (void)snprintf(block, 100, "disk/image.raw");
  (void)snprintf(block + 100, 8, "0000644");
  (void)snprintf(block + 257, 8, "%s", magic);
  memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (size_t i = 0; i < 512; i++)
    sum += (unsigned char)block[i];
  (void)snprintf(block + 148, 8, "%06o", sum);
  block[155] = ' ';
}

static void
test_tar_is_told_by_its_checksum(void)
{
  char block[512];
  struct probe probe;
  make_tar(block, "ustar");
  probe_bytes(block, sizeof(block), &probe);
  CHECK_NUMBER(probe.format, PROBE_TAR);
  make_tar(block, ""); /* older than its magic */
  probe_bytes(block, sizeof(block), &probe);
  CHECK_NUMBER(probe.format, PROBE_TAR);
  probe_bytes(block, sizeof(block) - 1, &probe);
  CHECK_NUMBER(probe.format, PROBE_RAW);
  block[5] ^= 1;
  probe_bytes(block, sizeof(block), &probe);
  CHECK_NUMBER(probe.format, PROBE_RAW);
  make_tar(block, "ustar");
  block[150] = 'x';
  probe_bytes(block, sizeof(block), &probe);
  CHECK_NUMBER(probe.format, PROBE_RAW);
}

static void
test_a_fixed_vhd_is_told_by_its_footer(void)
{
  unsigned char footer[512] = "conectix";
  footer[63] = 2;
  unsigned sum = 0;
  for (size_t i = 0; i < sizeof(footer); i++)
    sum += footer[i];
  for (size_t i = 0; i < 4; i++)
    footer[64 + i] = (unsigned char)(~sum >> (24 - 8 * i));
  CU_ASSERT(probe_is_vhd_footer(footer, sizeof(footer)));
  CU_ASSERT_FALSE(probe_is_vhd_footer(footer, sizeof(footer) - 1));
  footer[100] = 1;
  CU_ASSERT_FALSE(probe_is_vhd_footer(footer, sizeof(footer)));
  footer[100] = 0;
  footer[63] = 3; /* one with blocks says so in front */
  CU_ASSERT_FALSE(probe_is_vhd_footer(footer, sizeof(footer)));
}

static void
test_formats_belong_to_their_readers(void)
{
  unsigned compressed = 0, foreign = 0;
  for (int i = PROBE_RAW; i <= PROBE_UNSUPPORTED; i++) {
    compressed += probe_is_compressed((enum probe_format)i);
    foreign += probe_is_foreign((enum probe_format)i);
    CU_ASSERT_FALSE(probe_is_compressed((enum probe_format)i) &&
                    probe_is_foreign((enum probe_format)i));
  }
  CHECK_NUMBER(compressed, 3);
  CHECK_NUMBER(foreign, 5);
  CU_ASSERT(probe_is_compressed(PROBE_GZIP));
  CU_ASSERT(probe_is_foreign(PROBE_VMDK));
}

UNIT_MAIN("populator/format/probe", UNIT_TEST(test_formats_are_told_by_their_magic),
          UNIT_TEST(test_disks_are_raw_and_named), UNIT_TEST(test_anything_else_is_raw),
          UNIT_TEST(test_zstd_is_seen_behind_skippable_frames),
          UNIT_TEST(test_lzma_is_told_by_its_numbers), UNIT_TEST(test_tar_is_told_by_its_checksum),
          UNIT_TEST(test_a_fixed_vhd_is_told_by_its_footer),
          UNIT_TEST(test_formats_belong_to_their_readers))
