/* SPDX-License-Identifier: Apache-2.0 */
/* What we write on an RBD image, as image metadata (`rbd image-meta list` shows it):
 *
 *   imprint.ready           the image's own id: the commit record, written last
 *   imprint.name            the request's name
 *   imprint.source          the id of the snapshot or volume it was made from
 *   imprint.set.<name>      a StorageClass parameter as it was given
 *   imprint.label.<name>    what Kubernetes said of it: claim, namespace, volume
 *   imprint.node.<node>     published to this node, "rw" or "ro"
 *   imprint.copying         the image's own id: a full copy that was begun and is not finished
 *   imprint.doomed          it was not finished in time, and is removed (lib/ceph/unfinished.h)
 *   imprint.flattening      the image's own id: it is being copied free of its parents, or will be
 *   imprint.flattener       the Ceph client that does, or did (lib/ceph/flattener_mark.h)
 *   imprint.formatting      the image's own id: a node has found it blank and makes its filesystem
 *                           (lib/ceph/formatting_mark.h)
 *
 * librbd copies the metadata of an image to its clones. The id in `ready` is therefore what counts:
 * a clone has its parent's record until its own is written, and is not taken for finished before.
 */
#ifndef CSI_VOLUME_RECORD_H
#define CSI_VOLUME_RECORD_H

#include <stdbool.h>

#include "csi/volume/parameters.h"
#include "lib/base/error.h"
#include "lib/base/string_map.h"

#define RECORD_NODE_PREFIX "imprint.node."
/* The commit record's key. */
#define RECORD_READY "imprint.ready"
/* … of the mark of volumes whose chain of clones is to be cut. */
#define RECORD_FLATTENING "imprint.flattening"

/* What was asked for: everything about it that the image itself cannot tell. */
struct record {
  const char *name;
  const char *source; /* "" for a blank volume */
  const struct volume_parameters *parameters;
};

/* The metadata of a finished volume, added to `metadata`. */
void record_write_ready(const struct record *record, const char *image_id,
                        struct string_map *metadata);
/* … of one that is being copied. */
void record_write_copying(const struct record *record, const char *image_id,
                          struct string_map *metadata);
/* The mark of a volume whose chain of clones is being cut; to be removed by the same key. */
void record_write_flattening(const char *image_id, struct string_map *metadata);
bool record_is_flattening(const struct string_map *metadata, const char *image_id);
bool record_is_ready(const struct string_map *metadata, const char *image_id);
bool record_is_copying(const struct string_map *metadata, const char *image_id);
/* ALREADY_EXISTS, saying what differs, when the volume was made for another request. */
int record_compare(const struct record *record, const struct string_map *metadata,
                   struct error **err);

/* Keys that a clone got from its parent and must not keep: all of ours, and the parent's limits. */
void record_list_inherited(const struct string_map *metadata, struct string_map *ret_keys);
/* The key that a finished copy must not keep. */
void record_list_copying(struct string_map *ret_keys);

/* The id of the source; "" when there is none. Owned by the metadata. */
const char *record_source(const struct string_map *metadata);
/* What the node plugin is told of the volume. */
void record_volume_context(const struct string_map *metadata, struct string_map *context);

#endif
