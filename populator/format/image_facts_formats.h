/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that image_facts.c asks. Each is given the first bytes of the file and may read more.
 */
#ifndef POPULATOR_FORMAT_IMAGE_FACTS_FORMATS_H
#define POPULATOR_FORMAT_IMAGE_FACTS_FORMATS_H

#include "populator/format/image_facts.h"

typedef int image_facts_of(const unsigned char *bytes, size_t len,
                           const struct image_facts_input *input, struct image_facts *facts,
                           struct error **err);

image_facts_of image_facts_of_qcow2, image_facts_of_vmdk, image_facts_of_vdi, image_facts_of_vhd,
    image_facts_of_vhdx, image_facts_of_qed;

/* Text out of the file, with '?' for what a terminal might take for more than text. */
char *image_facts_text(const void *text, size_t len);

#endif
