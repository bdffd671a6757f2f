/* SPDX-License-Identifier: Apache-2.0 */
/* The RBD image that an import fills.
 *
 * It carries marks in its metadata while it is being filled, so that a later process can go on, and
 * nobody takes it for finished:
 *
 *   imprint.importing      the image's own id
 *   imprint.import.owner   the process and the Ceph client that work on it
 *   imprint.import.source  the URL, for people
 *
 * and beside it the object imprint.checkpoint.<image id>. All go with the last step, which writes
 * imprint.ready. One process at a time works on an image; one that died is told from one that lives
 * by its watch on the image, or at once when it ran on this machine.
 *
 * Beside it there may be a second one, the spool (import_spool.h), which is named after its id and
 * never outlives it: whoever removes what an import began removes both. */
#ifndef POPULATOR_TRANSFER_TARGET_H
#define POPULATOR_TRANSFER_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/string_map.h"
#include "lib/ceph/image.h"
#include "lib/ceph/image_create.h"
#include "populator/transfer/checkpoint.h"

#define TARGET_SIZE_UNKNOWN UINT64_MAX
/* Disks consist of whole ones, and qemu takes files so: what a file lacks of its last is zeros. */
#define TARGET_SECTOR_BYTES ((uint64_t)512)
/* What rbd itself makes by default, and every kernel since 5.3 maps. */
#define TARGET_FEATURES_DEFAULT 61

struct target_options {
  const char *name;           /* of the image */
  struct image_layout layout; /* for one that is made */
  bool is_existing;           /* fill an image that is there (a volume) in place of making one */
  const char *source_label;   /* the URL without secrets */
  const char *identity;       /* of the source; NULL: it cannot be resumed */
  /* Of the content, at least. TARGET_SIZE_UNKNOWN: the image grows as it comes; an existing one is
   * refused when it has no room for what comes. */
  uint64_t virtual_size;
  uint64_t size_bytes; /* of the RBD image: at least virtual_size; ignored when that grows */
  bool is_fitted;      /* one that is made is cut where the content ends, if it ends before that */
};

struct target;

/* Makes the image, or takes up one that an import of the same source has begun: then
 * *ret_checkpoint is where that one got to (kind, position …; to be cleared), else has no identity.
 * What an import of something else began is removed; an existing image is emptied of it, and of
 * whatever else it held. ALREADY_EXISTS when the name belongs to
 * anything finished. Waits for a dead predecessor's lock, some 30 seconds; FAILED_PRECONDITION when
 * one lives. */
int target_open(struct location *location, const struct target_options *options,
                struct target **ret_target, struct checkpoint *ret_checkpoint, struct error **err);
struct image *target_image(struct target *target);
struct location *target_location(struct target *target);
const char *target_name(const struct target *target);
/* Of the image, as it is now. */
uint64_t target_size(const struct target *target);
/* The name of its spool, be there one or not. */
const char *target_spool_name(const struct target *target);
/* Removes what an import into this image has left there, if it has. */
int target_discard_spool(struct target *target, struct error **err);
/* Removes what an import into this name has begun and nobody works on, if there is such. */
int target_clear_up(struct location *location, const char *name, struct error **err);
/* Lets go of it; what was written stays for the next process. */
void target_close(struct target *target);
DEFINE_CLEANUP(struct target *, target_close)

/* The size of a disk with so many bytes of content. */
static inline uint64_t
target_disk_bytes(uint64_t content_bytes)
{
  return (content_bytes + TARGET_SECTOR_BYTES - 1) / TARGET_SECTOR_BYTES * TARGET_SECTOR_BYTES;
}

/* Grows the image where its size was not known, so that it reaches to `end`. */
int target_make_room(struct target *target, uint64_t end, struct error **err);
/* The content ended here: an image that was grown, or is to fit, gets this size, rounded up to a
 * whole sector. */
int target_set_end(struct target *target, uint64_t end, struct error **err);

/* Sets its virtual size to what the target was opened with. */
int target_save(struct target *target, const struct checkpoint *checkpoint, struct error **err);
/* The same, and clears the state as soon as it stands in the record: it may be tens of MiB, which
 * librados copies once more while it writes. */
int target_save_away(struct target *target, struct checkpoint *checkpoint, struct error **err);

/* The import is complete and right: makes the snapshot if there is a name for it, writes the ready
 * mark with the given metadata, removes the others. */
int target_commit(struct target *target, const char *snapshot, const struct string_map *metadata,
                  struct error **err);
/* The import must not be: nothing of it stays. Frees the target. An existing image is emptied of
 * what was written. */
int target_discard(struct target *target, struct error **err);

#endif
