/* SPDX-License-Identifier: Apache-2.0 */
/* What stands on the image of an inline volume, beside the record that every volume has:
 *
 *   imprint.inline.node     whose it is: the node that has made it
 *   imprint.inline.target   where it is published there
 *   imprint.inline.seen     when that node was last alive, in seconds since 1970
 *
 * It outlives neither its pod nor its node, and nobody may be left who could be asked about either.
 * The node itself sees by `target` that a pod is gone; the others see by `seen` that the node is.
 */
#ifndef CSI_VOLUME_INLINE_RECORD_H
#define CSI_VOLUME_INLINE_RECORD_H

#include <stdint.h>

#include "csi/volume/inline_request.h"

struct inline_record {
  const char *volume_id; /* as kubelet calls it */
  const char *source;    /* handle of the snapshot */
  const char *node;
  const char *target;
  int64_t seen_s;
};

/* All of it, with the commit record, added to `metadata`. */
void inline_record_write(const struct inline_record *record, const struct inline_request *request,
                         const char *image_id, struct string_map *metadata);
/* ALREADY_EXISTS, saying what differs, when the image was made for another request. */
int inline_record_compare(const struct inline_record *record, const struct inline_request *request,
                          const struct string_map *metadata, struct error **err);
/* Strings are the metadata's, "" for what is not there. seen_s is 0 when it is not told. */
void inline_record_read(const struct string_map *metadata, struct inline_record *ret_record);
void inline_record_write_seen(int64_t seen_s, struct string_map *metadata);

/* What is to become of an image that a node has come across. */
enum inline_fate {
  INLINE_FATE_OWN,     /* this node's: it looks whether the pod is still there */
  INLINE_FATE_OTHER,   /* another node's, which was alive not long ago */
  INLINE_FATE_EXPIRED, /* another node's, which is gone */
};
enum inline_fate inline_record_fate(const struct inline_record *record, const char *node,
                                    int64_t now_s, int64_t expiry_s);

#endif
