/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/image_facts.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "tests/unit/unit.h"

/* A file, of which only `len` bytes are there. */
struct file {
  unsigned char *bytes;
  size_t len;
  bool is_broken;
};

static ssize_t
read_file(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  const struct file *file = context;
  if (file->is_broken)
    return error_set(err, ERROR_UNAVAILABLE, "no answer");
  if (offset >= file->len)
    return 0;
  if (len > file->len - offset)
    len = file->len - (size_t)offset;
  memcpy(buf, file->bytes + offset, len);
  return (ssize_t)len;
}

static struct image_facts
facts_of(enum probe_format format, struct file *file)
{
  const struct image_facts_input input = {.read = read_file, .context = file};
  struct image_facts facts = {0};
  CU_ASSERT_EQUAL(image_facts_read(format, &input, &facts, NULL), 0);
  return facts;
}

static void
check_text(const char *actual, const char *expected)
{
  CHECK_ROW(expected ? actual && strcmp(actual, expected) == 0 : !actual,
            expected ? expected : "-");
}

/* Every shorter file is told as much as it still holds, and nothing is read behind its end. */
static void
check_truncations(enum probe_format format, const unsigned char *bytes, size_t len)
{
  for (size_t cut = 0; cut < len; cut++) {
    CLEANUP(freep) unsigned char *part = xcalloc(cut + 1, 1);
    memcpy(part, bytes, cut);
    struct file file = {.bytes = part, .len = cut};
    struct image_facts facts = facts_of(format, &file);
    image_facts_clear(&facts);
  }
}

static void
put_bytes(unsigned char *at, const void *bytes, size_t len)
{
  memcpy(at, bytes, len);
}

/* Without the NUL behind it. */
#define PUT(at, text) put_bytes((at), (text), sizeof(text) - 1)

static void
put_be32(unsigned char *at, uint32_t value)
{
  value = htobe32(value);
  memcpy(at, &value, sizeof(value));
}

static void
put_le32(unsigned char *at, uint32_t value)
{
  value = htole32(value);
  memcpy(at, &value, sizeof(value));
}

static void
put_le64(unsigned char *at, uint64_t value)
{
  value = htole64(value);
  memcpy(at, &value, sizeof(value));
}

/* ---- qcow2 ------------------------------------------------------------------------------------
 */

static void
make_qcow2(unsigned char bytes[512], uint32_t version)
{
  memset(bytes, 0, 512);
  PUT(bytes, "QFI\xfb");
  put_be32(bytes + 4, version);
  put_be32(bytes + 20, 16);
  bytes_put_be64(bytes + 24, (uint64_t)5 << 30);
  put_be32(bytes + 60, 3); /* snapshots */
  if (version >= 3)
    put_be32(bytes + 100, 112);
}

static void
test_qcow2_says_what_it_is(void)
{
  unsigned char bytes[512];
  struct file file = {.bytes = bytes, .len = sizeof(bytes)};
  make_qcow2(bytes, 2);
  struct image_facts facts = facts_of(PROBE_QCOW2, &file);
  check_text(facts.variant, "version 2");
  check_text(facts.compression, "zlib");
  CU_ASSERT_EQUAL(facts.virtual_size, (uint64_t)5 << 30);
  CU_ASSERT_EQUAL(facts.cluster_size, 65536);
  CU_ASSERT_EQUAL(facts.snapshot_count, 3);
  CU_ASSERT_PTR_NULL(facts.backing_file);
  CU_ASSERT_PTR_NULL(facts.data_file);
  CU_ASSERT_PTR_NULL(facts.encryption);
  image_facts_clear(&facts);
  make_qcow2(bytes, 3);
  bytes_put_be64(bytes + 72, 1 | 2 | 8 | 16); /* dirty, corrupt, compression type, subclusters */
  bytes_put_be64(bytes + 80, 1);              /* lazy refcounts */
  bytes[104] = 1;
  put_be32(bytes + 32, 2);
  facts = facts_of(PROBE_QCOW2, &file);
  check_text(facts.variant, "version 3");
  check_text(facts.compression, "zstd");
  check_text(facts.encryption, "LUKS");
  CU_ASSERT_TRUE(facts.is_dirty && facts.is_corrupt && facts.has_subclusters);
  CU_ASSERT_TRUE(facts.has_lazy_refcounts);
  image_facts_clear(&facts);
}

static void
test_qcow2_names_what_it_depends_on(void)
{
  unsigned char bytes[512];
  struct file file = {.bytes = bytes, .len = sizeof(bytes)};
  make_qcow2(bytes, 3);
  put_be32(bytes + 112, 0xe2792aca);
  put_be32(bytes + 116, 3);
  PUT(bytes + 120, "raw");
  put_be32(bytes + 128, 0x44415441);
  put_be32(bytes + 132, 6);
  PUT(bytes + 136, "da\x1bta!");
  bytes_put_be64(bytes + 8, 200);
  put_be32(bytes + 16, 9);
  PUT(bytes + 200, "base.img\xff-");
  struct image_facts facts = facts_of(PROBE_QCOW2, &file);
  check_text(facts.backing_file, "base.img?");
  check_text(facts.backing_format, "raw");
  check_text(facts.data_file, NULL); /* the feature is not set */
  image_facts_clear(&facts);
  bytes_put_be64(bytes + 72, 4);
  facts = facts_of(PROBE_QCOW2, &file);
  check_text(facts.data_file, "da?ta!");
  image_facts_clear(&facts);
  check_truncations(PROBE_QCOW2, bytes, sizeof(bytes));
}

static void
test_qcow2_with_nonsense_in_it(void)
{
  unsigned char bytes[512];
  struct file file = {.bytes = bytes, .len = sizeof(bytes)};
  make_qcow2(bytes, 3);
  put_be32(bytes + 20, 77);              /* bits of a cluster */
  bytes_put_be64(bytes + 8, UINT64_MAX); /* the backing file's name */
  put_be32(bytes + 16, 100);
  put_be32(bytes + 100, UINT32_MAX); /* length of the header */
  put_be32(bytes + 32, 99);
  bytes[104] = 9;
  struct image_facts facts = facts_of(PROBE_QCOW2, &file);
  CU_ASSERT_EQUAL(facts.cluster_size, 0);
  check_text(facts.backing_file, "");
  check_text(facts.compression, "?");
  check_text(facts.encryption, "?");
  image_facts_clear(&facts);
}

/* ---- the others -------------------------------------------------------------------------------
 */

static void
test_vmdk_with_a_header(void)
{
  unsigned char bytes[2048] = "KDMV";
  struct file file = {.bytes = bytes, .len = sizeof(bytes)};
  static const char description[] = "# Disk DescriptorFile\r\nparentCID=ffffffff\r\n"
                                    "createType = \"streamOptimized\"\r\n"
                                    "RW 99 SPARSE \"this-very-file.vmdk\"\n";
  put_le64(bytes + 12, 6 << 20);
  put_le64(bytes + 20, 128);
  put_le64(bytes + 28, 1);
  put_le64(bytes + 36, 2);
  bytes[77] = 1;
  memcpy(bytes + 512, description, sizeof(description));
  struct image_facts facts = facts_of(PROBE_VMDK, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, (uint64_t)3 << 30);
  CU_ASSERT_EQUAL(facts.cluster_size, 65536);
  check_text(facts.variant, "streamOptimized");
  check_text(facts.compression, "zlib");
  check_text(facts.backing_file, NULL);
  check_text(facts.data_file, NULL);
  image_facts_clear(&facts);
  check_truncations(PROBE_VMDK, bytes, sizeof(bytes));
}

static void
test_vmdk_that_is_a_description(void)
{
  static const char text[] = "# Disk DescriptorFile\nparentCID=1234abcd\n"
                             "parentFileNameHint=\"/old/disk.vmdk\"\n"
                             "createType=\"twoGbMaxExtentSparse\"\n"
                             "RW 4192256 SPARSE \"d-s001.vmdk\"\nRW 2048 SPARSE \"d-s002.vmdk\"\n"
                             "RW 99999999999999999999 SPARSE \"d-s003.vmdk\"\n";
  struct file file = {.bytes = (unsigned char *)text, .len = sizeof(text) - 1};
  struct image_facts facts = facts_of(PROBE_VMDK, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, (uint64_t)(4192256 + 2048) * 512);
  check_text(facts.variant, "twoGbMaxExtentSparse");
  check_text(facts.backing_file, "/old/disk.vmdk");
  check_text(facts.data_file, "d-s001.vmdk");
  image_facts_clear(&facts);
  check_truncations(PROBE_VMDK, file.bytes, file.len);
}

static void
test_vdi(void)
{
  unsigned char bytes[512] = "<<< disk >>>";
  struct file file = {.bytes = bytes, .len = sizeof(bytes)};
  put_le32(bytes + 0x4c, 4);
  put_le64(bytes + 0x170, 123456789);
  put_le32(bytes + 0x178, 1 << 20);
  struct image_facts facts = facts_of(PROBE_VDI, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, 123456789);
  CU_ASSERT_EQUAL(facts.cluster_size, 1 << 20);
  check_text(facts.backing_file, "");
  image_facts_clear(&facts);
  check_truncations(PROBE_VDI, bytes, sizeof(bytes));
}

static void
test_vhd_has_two_sizes(void)
{
  unsigned char bytes[2048] = "conectix";
  struct file file = {.bytes = bytes, .len = sizeof(bytes)};
  bytes_put_be64(bytes + 16, 512);
  PUT(bytes + 28, "vpc ");
  bytes_put_be64(bytes + 48, 1 << 30);
  bytes[56] = 1, bytes[57] = 0, bytes[58] = 16, bytes[59] = 63; /* 256 cylinders */
  put_be32(bytes + 60, 4);
  PUT(bytes + 512, "cxsparse");
  put_be32(bytes + 512 + 32, 2 << 20);
  PUT(bytes + 512 + 64, "\0b\0a\0s\0e\1\2\0.\0v");
  struct image_facts facts = facts_of(PROBE_VHD, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, (uint64_t)256 * 16 * 63 * 512);
  CU_ASSERT_EQUAL(facts.cluster_size, 2 << 20);
  check_text(facts.backing_file, "base?.v");
  image_facts_clear(&facts);
  PUT(bytes + 28, "win ");
  put_be32(bytes + 60, 3);
  facts = facts_of(PROBE_VHD, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, 1 << 30);
  check_text(facts.variant, "dynamic");
  check_text(facts.backing_file, NULL);
  image_facts_clear(&facts);
  bytes_put_be64(bytes + 16, UINT64_MAX);
  facts = facts_of(PROBE_VHD, &file);
  CU_ASSERT_EQUAL(facts.cluster_size, 0);
  image_facts_clear(&facts);
  check_truncations(PROBE_VHD, bytes, sizeof(bytes));
}

#define VHDX_METADATA ((size_t)256 << 10)

static void
test_vhdx_has_its_size_far_behind(void)
{
  static const unsigned char region[16] = {0x06, 0xa2, 0x7c, 0x8b, 0x90, 0x47, 0x9a, 0x4b,
                                           0xb8, 0xfe, 0x57, 0x5f, 0x05, 0x0f, 0x88, 0x6e};
  static const unsigned char size[16] = {0x24, 0x42, 0xa5, 0x2f, 0x1b, 0xcd, 0x76, 0x48,
                                         0xb2, 0x11, 0x5d, 0xbe, 0xd8, 0x3b, 0xf4, 0xb8};
  static const unsigned char parameters[16] = {0x37, 0x67, 0xa1, 0xca, 0x36, 0xfa, 0x43, 0x4d,
                                               0xb3, 0xb6, 0x33, 0xf0, 0xaa, 0x44, 0xe7, 0x6b};
  struct file file = {.len = VHDX_METADATA + (80 << 10)};
  CLEANUP(freep) unsigned char *bytes = xcalloc(file.len, 1);
  file.bytes = bytes;
  PUT(bytes, "vhdxfile");
  unsigned char *regions = bytes + (192 << 10);
  unsigned char *metadata = bytes + VHDX_METADATA;
  PUT(regions, "regi");
  put_le32(regions + 8, 2);
  memcpy(regions + 16 + 32, region, 16);
  put_le64(regions + 16 + 32 + 16, VHDX_METADATA);
  PUT(metadata, "metadata");
  metadata[10] = 2;
  memcpy(metadata + 32, parameters, 16);
  put_le32(metadata + 32 + 16, 65536);
  memcpy(metadata + 64, size, 16);
  put_le32(metadata + 64 + 16, 65544);
  put_le32(metadata + 65536, 32 << 20);
  put_le32(metadata + 65540, 2);
  put_le64(metadata + 65544, (uint64_t)7 << 30);
  struct image_facts facts = facts_of(PROBE_VHDX, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, (uint64_t)7 << 30);
  CU_ASSERT_EQUAL(facts.cluster_size, 32 << 20);
  check_text(facts.backing_file, "");
  image_facts_clear(&facts);
  put_le32(regions + 8, UINT32_MAX);
  facts = facts_of(PROBE_VHDX, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, IMAGE_SIZE_UNKNOWN);
  image_facts_clear(&facts);
  file.len = 65536; /* as much as is seen of a stream */
  facts = facts_of(PROBE_VHDX, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, IMAGE_SIZE_UNKNOWN);
  image_facts_clear(&facts);
}

static void
test_qed(void)
{
  unsigned char bytes[128] = "QED";
  struct file file = {.bytes = bytes, .len = sizeof(bytes)};
  put_le32(bytes + 4, 65536);
  put_le64(bytes + 48, 1 << 30);
  struct image_facts facts = facts_of(PROBE_QED, &file);
  CU_ASSERT_EQUAL(facts.virtual_size, 1 << 30);
  CU_ASSERT_EQUAL(facts.cluster_size, 65536);
  check_text(facts.backing_file, NULL);
  image_facts_clear(&facts);
  bytes[16] = 1;
  put_le32(bytes + 56, 64);
  put_le32(bytes + 60, 4);
  PUT(bytes + 64, "base");
  facts = facts_of(PROBE_QED, &file);
  check_text(facts.backing_file, "base");
  image_facts_clear(&facts);
  check_truncations(PROBE_QED, bytes, sizeof(bytes));
}

static void
test_a_file_that_cannot_be_read(void)
{
  struct file file = {.is_broken = true};
  const struct image_facts_input input = {.read = read_file, .context = &file};
  struct image_facts facts;
  CLEANUP(error_freep) struct error *err = NULL;
  CU_ASSERT_EQUAL(image_facts_read(PROBE_QCOW2, &input, &facts, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "no answer");
}

UNIT_MAIN("populator/format/image_facts", UNIT_TEST(test_qcow2_says_what_it_is),
          UNIT_TEST(test_qcow2_names_what_it_depends_on), UNIT_TEST(test_qcow2_with_nonsense_in_it),
          UNIT_TEST(test_vmdk_with_a_header), UNIT_TEST(test_vmdk_that_is_a_description),
          UNIT_TEST(test_vdi), UNIT_TEST(test_vhd_has_two_sizes),
          UNIT_TEST(test_vhdx_has_its_size_far_behind), UNIT_TEST(test_qed),
          UNIT_TEST(test_a_file_that_cannot_be_read))
