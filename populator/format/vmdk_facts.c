/* SPDX-License-Identifier: Apache-2.0 */
/* A vmdk is a file with a header in which a description stands, or the description alone, as text,
 * beside the files that it names. */
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/format/bytes.h"
#include "populator/format/image_facts_formats.h"

#define SECTOR 512
#define HEADER_BYTES 79
#define COWD_BYTES 20
#define DESCRIPTION_BYTES_MAX ((size_t)64 << 10)
#define NO_PARENT "ffffffff"
#define COMPRESSION_DEFLATE 1

/* ---- the description ---------------------------------------------------------------------------
 */

/* The value of `key = "value"` in a line; NULL: it is another line. To be freed. */
static char *
value_of(const char *line, const char *key)
{
  if (!text_starts_with(line, key))
    return NULL;
  line += strlen(key);
  line += strspn(line, " \t");
  if (*line++ != '=')
    return NULL;
  line += strspn(line, " \t\"");
  size_t len = strcspn(line, "\"\r");
  return image_facts_text(line, len);
}

static void
take(char **member, char *value)
{
  if (!value)
    return;
  free(*member);
  *member = value;
}

/* `RW 4192256 SPARSE "disk-s001.vmdk"`: the sectors that another file holds. */
static void
add_extent(const char *line, struct image_facts *facts)
{
  static const char *const access[] = {"RW ", "RDONLY ", "NOACCESS "};
  const char *at = NULL;
  for (size_t i = 0; !at && i < sizeof(access) / sizeof(access[0]); i++) {
    if (text_starts_with(line, access[i]))
      at = line + strlen(access[i]);
  }
  if (!at)
    return;
  uint64_t sectors;
  CLEANUP(freep) char *number = xstrndup(at, strspn(at, "0123456789"));
  if (text_to_u64(number, 10, &sectors) < 0 || sectors > (UINT64_MAX >> 1) / SECTOR)
    return;
  uint64_t before = facts->virtual_size == IMAGE_SIZE_UNKNOWN ? 0 : facts->virtual_size;
  if (before <= UINT64_MAX >> 1)
    facts->virtual_size = before + sectors * SECTOR;
  const char *quote = strchr(at, '"');
  if (quote && !facts->data_file)
    facts->data_file = image_facts_text(quote + 1, strcspn(quote + 1, "\"\r"));
}

/* is_alone: the disk is in other files. */
static void
read_description(char *text, bool is_alone, struct image_facts *facts)
{
  bool has_parent = false;
  CLEANUP(freep) char *parent = NULL;
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n"));) {
    CLEANUP(freep) char *cid = value_of(line, "parentCID");
    has_parent = has_parent || (cid && strcmp(cid, NO_PARENT) != 0);
    take(&parent, value_of(line, "parentFileNameHint"));
    take(&facts->variant, value_of(line, "createType"));
    if (is_alone)
      add_extent(line, facts);
  }
  if (has_parent)
    facts->backing_file = parent ? TAKE(parent) : xstrdup("");
}

/* ---- the header --------------------------------------------------------------------------------
 */

static int
read_embedded(const unsigned char *bytes, const struct image_facts_input *input,
              struct image_facts *facts, struct error **err)
{
  uint64_t offset = bytes_le64(bytes + 28);
  uint64_t sectors = bytes_le64(bytes + 36);
  if (offset == 0 || offset > (UINT64_MAX >> 1) / SECTOR || sectors == 0)
    return 0;
  size_t len =
      sectors < DESCRIPTION_BYTES_MAX / SECTOR ? (size_t)sectors * SECTOR : DESCRIPTION_BYTES_MAX;
  CLEANUP(freep) char *text = xcalloc(len + 1, 1);
  if (input->read(input->context, text, len, offset * SECTOR, err) < 0)
    return -1;
  read_description(text, false, facts);
  return 0;
}

int
image_facts_of_vmdk(const unsigned char *bytes, size_t len, const struct image_facts_input *input,
                    struct image_facts *facts, struct error **err)
{
  if (len >= HEADER_BYTES && memcmp(bytes, "KDMV", 4) == 0) {
    uint64_t sectors = bytes_le64(bytes + 12);
    uint64_t grain = bytes_le64(bytes + 20);
    if (sectors <= (UINT64_MAX >> 1) / SECTOR)
      facts->virtual_size = sectors * SECTOR;
    facts->cluster_size = grain <= UINT32_MAX ? grain * SECTOR : 0;
    facts->compression = bytes_le16(bytes + 77) == COMPRESSION_DEFLATE ? "zlib" : NULL;
    return read_embedded(bytes, input, facts, err);
  }
  if (len >= COWD_BYTES && memcmp(bytes, "COWD", 4) == 0) {
    facts->virtual_size = (uint64_t)bytes_le32(bytes + 12) * SECTOR;
    facts->cluster_size = (uint64_t)bytes_le32(bytes + 16) * SECTOR;
    facts->variant = xstrdup("vmfsSparse");
    return 0;
  }
  size_t room = len < DESCRIPTION_BYTES_MAX ? len : DESCRIPTION_BYTES_MAX;
  CLEANUP(freep) char *text = xstrndup((const char *)bytes, room);
  read_description(text, true, facts);
  return 0;
}
