/* SPDX-License-Identifier: Apache-2.0 */
/* Takes an image away from whoever is making it, so that it can be made anew.
 *
 * Whoever finds an image that was never finished cannot tell whether its maker is dead, or slow in
 * another process: after a change of leaders two controllers have the same call. So nothing rests
 * on that. An image is finished by one atomic write to its header, on the condition that it was not
 * doomed; it is doomed by one atomic write, on the condition that it is not finished; and only what
 * is doomed is removed, by its id. Where there is no header yet, an empty one is put in its place,
 * which makes the maker's own fail. A maker that lost finds out before it answers. */
#ifndef LIB_CEPH_UNFINISHED_H
#define LIB_CEPH_UNFINISHED_H

#include "lib/ceph/header.h"
#include "lib/ceph/trash.h"

/* Metadata of an image that must not be finished any more: makers finish by
 * header_update_metadata_if() this is not there. */
#define UNFINISHED_DOOMED "imprint.doomed"

/* The image with this name and id, of which `header` was read; NULL when there was none. `mark` is
 * the key that its maker writes when it is finished. ABORTED when it was finished or taken away
 * meanwhile: look again. The name is free behind it. May be repeated. */
int unfinished_take_away(struct location *location, const char *name, const char *id,
                         const struct header *header, const char *mark, struct error **err);

/* The images in the trash that had this name and were taken away, or of which no header is left:
 * what is there when whoever removed them was killed over it, and nobody empties the trash. Not
 * those that people have put there. */
int unfinished_list_buried(struct location *location, const char *name, struct trash *ret_trash,
                           struct error **err);

/* For makers that have written their header, and answer next: whether the name still leads to it.
 */
int unfinished_is_ours(struct location *location, const char *name, const char *id, bool *ret_is,
                       struct error **err);

#endif
