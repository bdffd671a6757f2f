/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/image_facts.h"

#include "lib/base/memory.h"
#include "populator/format/image_facts_formats.h"

static const struct {
  enum probe_format format;
  image_facts_of *facts_of;
} formats[] = {
    {PROBE_QCOW2, image_facts_of_qcow2}, {PROBE_VMDK, image_facts_of_vmdk},
    {PROBE_VDI, image_facts_of_vdi},     {PROBE_VHD, image_facts_of_vhd},
    {PROBE_VHDX, image_facts_of_vhdx},   {PROBE_QED, image_facts_of_qed},
};

char *
image_facts_text(const void *text, size_t len)
{
  char *copy = xstrndup(text, len);
  for (char *c = copy; *c; c++) {
    if (*c < ' ' || *c > '~')
      *c = '?';
  }
  return copy;
}

void
image_facts_clear(struct image_facts *facts)
{
  free(facts->variant);
  free(facts->backing_file);
  free(facts->backing_format);
  free(facts->data_file);
  *facts = (struct image_facts){0};
}

int
image_facts_read(enum probe_format format, const struct image_facts_input *input,
                 struct image_facts *ret_facts, struct error **err)
{
  CLEANUP(image_facts_clear) struct image_facts facts = {.virtual_size = IMAGE_SIZE_UNKNOWN};
  CLEANUP(freep) unsigned char *bytes = xcalloc(PROBE_BYTES, 1);
  ssize_t len = input->read(input->context, bytes, PROBE_BYTES, 0, err);
  if (len < 0)
    return -1;
  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
    if (formats[i].format == format &&
        formats[i].facts_of(bytes, (size_t)len, input, &facts, err) < 0)
      return -1;
  }
  *ret_facts = facts;
  facts = (struct image_facts){0};
  return 0;
}
