/* SPDX-License-Identifier: Apache-2.0 */
/* What image files say of themselves: whatever they say, it is read inside the file, and its texts
 * are fit for a terminal. The first byte chooses the format, and whether a file is said to go on
 * with zeros: tables of some formats lie far from the beginning, so offsets wrap around. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "populator/format/image_facts.h"
#include "tests/fuzz/fuzz.h"

struct file {
  const uint8_t *data;
  size_t size;
  bool is_long;
};

static ssize_t
read_file(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  (void)err;
  const struct file *file = context;
  size_t at = file->size ? (size_t)(offset % file->size) : 0;
  size_t take = file->size - at < len ? file->size - at : len;
  memcpy(buf, file->data + at, take);
  if (!file->is_long)
    return (ssize_t)take;
  memset((char *)buf + take, 0, len - take);
  return (ssize_t)len;
}

static void
check_text(const char *text)
{
  for (; text && *text; text++)
    CHECK(*text >= ' ' && *text <= '~');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const enum probe_format formats[] = {PROBE_QCOW2, PROBE_VMDK, PROBE_VDI, PROBE_VHD,
                                              PROBE_VHDX,  PROBE_QED,  PROBE_RAW};
  if (size == 0)
    return 0;
  struct file file = {.data = data + 1, .size = size - 1, .is_long = data[0] & 8};
  const struct image_facts_input input = {.read = read_file, .context = &file};
  struct image_facts facts;
  size_t which = data[0] & 7;
  if (which >= sizeof(formats) / sizeof(formats[0]))
    return 0;
  CHECK(image_facts_read(formats[which], &input, &facts, NULL) == 0);
  check_text(facts.variant);
  check_text(facts.backing_file);
  check_text(facts.backing_format);
  check_text(facts.data_file);
  if (formats[which] == PROBE_RAW)
    CHECK(facts.virtual_size == IMAGE_SIZE_UNKNOWN && !facts.backing_file);
  image_facts_clear(&facts);
  return 0;
}
