/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a flatten that was killed.
 *
 * When all is copied, librbd takes the child off its parent's list, upon which a parent that was
 * only kept for it may vanish, and then cuts the child's own tie. Killed in between, it leaves an
 * image that has all its data and cannot be opened: its parent is looked for in vain. */
#ifndef LIB_CEPH_LOST_PARENT_H
#define LIB_CEPH_LOST_PARENT_H

#include "lib/ceph/location.h"

/* Cuts the tie when the parent is gone. Only for an image that is known to have been a finished
 * clone when it was flattened: a half-made one may lack data that the parent had. NOT_FOUND when
 * the image itself is gone. */
int lost_parent_cut(struct location *location, const char *image_id, struct error **err);

#endif
