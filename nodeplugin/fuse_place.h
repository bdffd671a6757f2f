/* SPDX-License-Identifier: Apache-2.0 */
/* Where the things of a volume are that is served over FUSE. RUN_DIR/fuse/<hash of the volume's id>
 * holds
 *
 *   lock           held, as a lock of a file, by the daemon and nobody else: that is how its life
 *                  or death is told for sure
 *   qmp            its monitor socket; to end it, and to have it look at the image's size
 *   log            what it said
 *   new            there until it has shown the image: nothing can have been written through it
 *   <volume id>    the file that the image is shown as */
#ifndef NODEPLUGIN_FUSE_PLACE_H
#define NODEPLUGIN_FUSE_PLACE_H

#include "nodeplugin/mapper.h"

struct fuse_place {
  char *folder;
  char *file;
  char *socket;
};

void fuse_place_of(const struct mapper_env *env, const struct volume_id *id,
                   struct fuse_place *ret_place);
void fuse_place_clear(struct fuse_place *place);

/* A file of the folder; -1 with errno. */
int fuse_place_open(const struct fuse_place *place, const char *name, int flags);
/* The lock, taken: the daemon does not run. -1 when it does, or there is no folder. */
int fuse_place_take_lock(const struct fuse_place *place);
bool fuse_place_is_served(const struct fuse_place *place);
/* Whether the image is shown: the file is a mount of its own. */
bool fuse_place_is_shown(const struct fuse_place *place);

/* The mark of a daemon that is about to start and may be killed at any time. It is gone before
 * there is a device to write to; when it is lost, the daemon is thought to hold data. */
int fuse_place_mark_new(const struct fuse_place *place, struct error **err);
int fuse_place_unmark_new(const struct fuse_place *place, struct error **err);
bool fuse_place_is_new(const struct fuse_place *place);

/* A folder, and a file to show the image as. */
int fuse_place_prepare(const struct mapper_env *env, const struct fuse_place *place,
                       struct error **err);
/* What a daemon that died has left: a loop device on a dead file, a dead mount. */
int fuse_place_clear_remains(const struct fuse_place *place, struct error **err);
int fuse_place_remove(const struct fuse_place *place, struct error **err);

#endif
