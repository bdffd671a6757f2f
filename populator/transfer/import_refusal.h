/* SPDX-License-Identifier: Apache-2.0 */
/* What an image is not taken for, however it comes. */
#ifndef POPULATOR_TRANSFER_IMPORT_REFUSAL_H
#define POPULATOR_TRANSFER_IMPORT_REFUSAL_H

#include <stdbool.h>

#include "lib/base/error.h"

/* `wanted` is "auto", NULL, or what the image must be. */
int import_check_format(const char *wanted, const char *name, struct error **err);
/* Whether calling again could not help: then nothing of the import is to stay. */
bool import_is_images_fault(enum error_code code);

#endif
