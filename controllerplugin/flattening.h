/* SPDX-License-Identifier: Apache-2.0 */
/* One try to copy a volume free of its parents, which makes room for whoever wants the volume.
 *
 * The copying has the image open and its exclusive lock, so to a node it looks as if another node
 * had the volume. It can wait and a pod cannot: it ends as soon as somebody knocks
 * (lib/ceph/knock.h), or asks for the lock, and is not begun
 *
 * - while somebody has the image open, nor while the lock is a client's that is out of reach: to
 *   get at it that client, a node that may come back, would have to be thrown out;
 * - while the image has snapshots. Whoever has a clone of one open goes on reading from the parents
 *   that the image had, which may be removed once it has none, and reads zeros then.
 *
 * What was copied stays copied. Readers do not show: a node that maps the volume read-only takes
 * the mark off it, and with that it is not copied any more. */
#ifndef CONTROLLERPLUGIN_FLATTENING_H
#define CONTROLLERPLUGIN_FLATTENING_H

#include "lib/ceph/location.h"

struct flattening {
  struct location *location;
  const char *image_id;
  /* Whether it is to end early. Called by threads of librbd. */
  bool (*is_cancelled)(void *context);
  void *context;
};

enum flattening_end {
  FLATTENING_DONE,
  FLATTENING_NOT_WANTED, /* it is not marked any more */
  FLATTENING_IN_USE,     /* it was not begun */
  FLATTENING_MADE_ROOM,  /* it was ended for somebody who wants the volume */
};

/* The image is marked when it is made, and until it is done, so that another process goes on when
 * this one is killed (record.h). Cancelled, it fails. NOT_FOUND when the image is gone. */
int flattening_try(const struct flattening *flattening, enum flattening_end *ret_end,
                   struct error **err);

#endif
