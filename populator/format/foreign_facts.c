/* SPDX-License-Identifier: Apache-2.0 */
/* vdi, VHD, VHDX and qed; a vmdk has a file of its own. */
#include <string.h>

#include "lib/base/memory.h"
#include "populator/format/bytes.h"
#include "populator/format/image_facts_formats.h"

#define NAME_MAX_BYTES 1023

/* ---- vdi --------------------------------------------------------------------------------------
 */

#define VDI_BYTES 0x180
enum { VDI_DYNAMIC = 1, VDI_STATIC = 2, VDI_UNDO = 3, VDI_DIFFERENCE = 4 };

int
image_facts_of_vdi(const unsigned char *bytes, size_t len, const struct image_facts_input *input,
                   struct image_facts *facts, struct error **err)
{
  (void)input, (void)err;
  if (len < VDI_BYTES)
    return 0;
  uint32_t type = bytes_le32(bytes + 0x4c);
  facts->virtual_size = bytes_le64(bytes + 0x170);
  facts->cluster_size = bytes_le32(bytes + 0x178);
  facts->variant = xstrdup(type == VDI_DYNAMIC ? "dynamic" : type == VDI_STATIC ? "static" : NULL);
  if (type == VDI_UNDO || type == VDI_DIFFERENCE)
    facts->backing_file = xstrdup(""); /* it has only its UUID */
  return 0;
}

/* ---- VHD --------------------------------------------------------------------------------------
 */

#define VHD_FOOTER_BYTES 512
#define VHD_DYNAMIC_BYTES 1024
#define VHD_PARENT_NAME 64
#define VHD_PARENT_NAME_BYTES 512
#define VHD_GEOMETRY_MAX ((uint64_t)65535 * 16 * 255)
enum { VHD_DYNAMIC = 3, VHD_DIFFERENCE = 4 };

/* Virtual PC makes a disk as large as its geometry says, others as the number beside it; who wrote
 * the file tells. qemu sees it so, too. */
static uint64_t
vhd_size(const unsigned char *footer)
{
  static const char by_number[][4] = {{'w', 'i', 'n', ' '},
                                      {'q', 'e', 'm', '2'},
                                      {'d', '2', 'v', ' '},
                                      {'t', 'a', 'p', '\0'},
                                      {'C', 'T', 'X', 'S'}};
  uint64_t size = bytes_be64(footer + 48);
  uint64_t cylinders = (uint64_t)footer[56] << 8 | footer[57];
  uint64_t sectors = cylinders * footer[58] * footer[59];
  for (size_t i = 0; i < sizeof(by_number) / sizeof(by_number[0]); i++) {
    if (memcmp(footer + 28, by_number[i], sizeof(by_number[i])) == 0)
      return size;
  }
  return sectors == VHD_GEOMETRY_MAX ? size : sectors * 512;
}

/* UTF-16, of which what is not ASCII is of no interest here. */
static char *
vhd_parent_name(const unsigned char *name)
{
  char text[VHD_PARENT_NAME_BYTES / 2];
  for (size_t i = 0; i < sizeof(text); i++)
    text[i] = name[2 * i] == 0 ? (char)name[2 * i + 1] : '?';
  return image_facts_text(text, sizeof(text));
}

int
image_facts_of_vhd(const unsigned char *bytes, size_t len, const struct image_facts_input *input,
                   struct image_facts *facts, struct error **err)
{
  if (len < VHD_FOOTER_BYTES)
    return 0;
  uint32_t type = bytes_be32(bytes + 60);
  facts->virtual_size = vhd_size(bytes);
  facts->variant = xstrdup(type == VHD_DYNAMIC ? "dynamic" : NULL);
  if (type == VHD_DIFFERENCE)
    facts->backing_file = xstrdup("");
  unsigned char header[VHD_DYNAMIC_BYTES];
  ssize_t got = input->read(input->context, header, sizeof(header), bytes_be64(bytes + 16), err);
  if (got < 0)
    return -1;
  if ((size_t)got < sizeof(header) || memcmp(header, "cxsparse", 8) != 0)
    return 0;
  facts->cluster_size = bytes_be32(header + 32);
  if (type == VHD_DIFFERENCE) {
    free(facts->backing_file);
    facts->backing_file = vhd_parent_name(header + VHD_PARENT_NAME);
  }
  return 0;
}

/* ---- VHDX -------------------------------------------------------------------------------------
 */

#define VHDX_REGIONS_OFFSET ((uint64_t)192 << 10)
#define VHDX_TABLE_BYTES ((size_t)64 << 10)
#define VHDX_ENTRIES_MAX 2047
#define VHDX_ENTRY_BYTES 32
#define VHDX_HAS_PARENT 2

/* GUIDs as they lie in the file. */
static const unsigned char vhdx_metadata_region[16] = {
    0x06, 0xa2, 0x7c, 0x8b, 0x90, 0x47, 0x9a, 0x4b, 0xb8, 0xfe, 0x57, 0x5f, 0x05, 0x0f, 0x88, 0x6e};
static const unsigned char vhdx_disk_size[16] = {0x24, 0x42, 0xa5, 0x2f, 0x1b, 0xcd, 0x76, 0x48,
                                                 0xb2, 0x11, 0x5d, 0xbe, 0xd8, 0x3b, 0xf4, 0xb8};
static const unsigned char vhdx_parameters[16] = {0x37, 0x67, 0xa1, 0xca, 0x36, 0xfa, 0x43, 0x4d,
                                                  0xb3, 0xb6, 0x33, 0xf0, 0xaa, 0x44, 0xe7, 0x6b};

/* The entry of a table that begins with this GUID; NULL: there is none. */
static const unsigned char *
vhdx_find(const unsigned char *table, size_t first, size_t count, const unsigned char guid[16])
{
  for (size_t i = 0; i < count; i++) {
    const unsigned char *entry = table + first + i * VHDX_ENTRY_BYTES;
    if (memcmp(entry, guid, 16) == 0)
      return entry;
  }
  return NULL;
}

/* A table of this kind, or false. */
static int
vhdx_read_table(const struct image_facts_input *input, uint64_t offset, const char *signature,
                unsigned char *table, bool *ret_is_there, struct error **err)
{
  ssize_t got = input->read(input->context, table, VHDX_TABLE_BYTES, offset, err);
  if (got < 0)
    return -1;
  *ret_is_there =
      (size_t)got == VHDX_TABLE_BYTES && memcmp(table, signature, strlen(signature)) == 0;
  return 0;
}

/* Eight bytes of an item, whose offset counts from the metadata's beginning; zeros when it is not
 * there. */
static int
vhdx_read_item(const struct image_facts_input *input, uint64_t metadata, const unsigned char *entry,
               unsigned char value[8], struct error **err)
{
  memset(value, 0, 8);
  if (!entry)
    return 0;
  return input->read(input->context, value, 8, metadata + bytes_le32(entry + 16), err) < 0 ? -1 : 0;
}

static int
vhdx_read_metadata(const struct image_facts_input *input, uint64_t metadata, unsigned char *table,
                   struct image_facts *facts, struct error **err)
{
  bool is_there;
  unsigned char size[8], parameters[8];
  if (vhdx_read_table(input, metadata, "metadata", table, &is_there, err) < 0)
    return -1;
  size_t count = is_there ? bytes_le16(table + 10) : 0;
  if (count == 0 || count > VHDX_ENTRIES_MAX)
    return 0;
  const unsigned char *size_entry = vhdx_find(table, VHDX_ENTRY_BYTES, count, vhdx_disk_size);
  const unsigned char *entry = vhdx_find(table, VHDX_ENTRY_BYTES, count, vhdx_parameters);
  if (vhdx_read_item(input, metadata, size_entry, size, err) < 0 ||
      vhdx_read_item(input, metadata, entry, parameters, err) < 0)
    return -1;
  if (size_entry)
    facts->virtual_size = bytes_le64(size);
  facts->cluster_size = bytes_le32(parameters);
  if (bytes_le32(parameters + 4) & VHDX_HAS_PARENT)
    facts->backing_file = xstrdup("");
  return 0;
}

int
image_facts_of_vhdx(const unsigned char *bytes, size_t len, const struct image_facts_input *input,
                    struct image_facts *facts, struct error **err)
{
  (void)bytes, (void)len;
  CLEANUP(freep) unsigned char *table = xcalloc(VHDX_TABLE_BYTES, 1);
  bool is_there;
  if (vhdx_read_table(input, VHDX_REGIONS_OFFSET, "regi", table, &is_there, err) < 0)
    return -1;
  size_t count = is_there ? bytes_le32(table + 8) : 0;
  if (count == 0 || count > VHDX_ENTRIES_MAX)
    return 0;
  const unsigned char *region = vhdx_find(table, 16, count, vhdx_metadata_region);
  return region ? vhdx_read_metadata(input, bytes_le64(region + 16), table, facts, err) : 0;
}

/* ---- qed --------------------------------------------------------------------------------------
 */

#define QED_BYTES 64
#define QED_HAS_BACKING_FILE 1

int
image_facts_of_qed(const unsigned char *bytes, size_t len, const struct image_facts_input *input,
                   struct image_facts *facts, struct error **err)
{
  (void)input, (void)err;
  if (len < QED_BYTES)
    return 0;
  facts->cluster_size = bytes_le32(bytes + 4);
  facts->virtual_size = bytes_le64(bytes + 48);
  if (!(bytes_le64(bytes + 16) & QED_HAS_BACKING_FILE))
    return 0;
  size_t offset = bytes_le32(bytes + 56);
  size_t name_len = bytes_le32(bytes + 60);
  bool has_name = name_len <= NAME_MAX_BYTES && offset <= len && name_len <= len - offset;
  facts->backing_file =
      image_facts_text(has_name ? bytes + offset : bytes, has_name ? name_len : 0);
  return 0;
}
