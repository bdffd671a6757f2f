/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/import_refusal.h"

#include <string.h>

int
import_check_format(const char *wanted, const char *name, struct error **err)
{
  if (!wanted || strcmp(wanted, "auto") == 0 || strcmp(wanted, name) == 0)
    return 0;
  return error_set(err, ERROR_INVALID_ARGUMENT, "the image is %s, not %s as --format says", name,
                   wanted);
}

bool
import_is_images_fault(enum error_code code)
{
  return code == ERROR_INVALID_ARGUMENT || code == ERROR_DATA_LOSS || code == ERROR_OUT_OF_RANGE ||
         code == ERROR_FAILED_PRECONDITION || code == ERROR_UNIMPLEMENTED;
}
