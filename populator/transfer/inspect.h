/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an image without reading it: its source, what is around it, what it says of
 * itself, and whether an import would refuse it. Only a few pieces are fetched, whatever its size.
 */
#ifndef POPULATOR_TRANSFER_INSPECT_H
#define POPULATOR_TRANSFER_INSPECT_H

#include "populator/format/image_facts.h"
#include "populator/source/source.h"

struct inspection {
  struct source *source; /* label, size, identity, container … */
  /* "gzip", "zstd, tar": what is around the image, the outermost first; NULL: nothing. */
  char *wrapping;
  struct probe probe;       /* what it is … */
  struct image_facts facts; /* … and says; where it says no size, the file's own, if it is raw */
  /* Of the clusters that were looked at, how many are compressed: "all", "some", "none"; NULL: none
   * was looked at, or there are none. */
  const char *compressed_clusters;
  /* Why it would not be imported; NULL: nothing that has been seen speaks against it. */
  struct error *refusal;
};

/* Fails when there is no image to look at. */
int inspect(const char *url, const struct source_options *options,
            struct inspection *ret_inspection, struct error **err);
void inspection_clear(struct inspection *inspection);

#endif
