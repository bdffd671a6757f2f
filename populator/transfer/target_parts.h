/* SPDX-License-Identifier: Apache-2.0 */
/* What a target is made of, for target.c and target_open.c. */
#ifndef POPULATOR_TRANSFER_TARGET_PARTS_H
#define POPULATOR_TRANSFER_TARGET_PARTS_H

#include "populator/transfer/target.h"

/* On an image while it is filled: its own id. */
#define TARGET_IMPORTING_KEY "imprint.importing"

struct target {
  struct location *location; /* its own */
  char *name;
  char *id;
  char *checkpoint_name;
  char *spool_name;
  struct image *image;
  bool is_existing;
  bool is_growing;       /* its size was not known */
  bool is_fitted;        /* its size is that of the content, whatever that turns out to be */
  uint64_t virtual_size; /* of the content, as it was said at the beginning */
  uint64_t size_bytes;
};

/* Takes the id over, and names what stands beside the image after it. */
void target_set_id(struct target *target, char *id);
/* Nothing of the image stays, nor of its spool; it must not be open. */
int target_remove(struct target *target, struct error **err);

#endif
