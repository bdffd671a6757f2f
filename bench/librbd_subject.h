/* SPDX-License-Identifier: Apache-2.0 */
/* librbd itself on one connection: the floor under any driver. Each operation is the fewest calls
 * that do the work, nothing is recorded, nothing is checked. A volume's id is its image's name, a
 * snapshot's is IMAGE@SNAPSHOT, a deleted one's is that of the image in the trash. */
#ifndef BENCH_LIBRBD_SUBJECT_H
#define BENCH_LIBRBD_SUBJECT_H

#include "bench/subject.h"

struct librbd_place {
  const char *conf_file;
  const char *keyring; /* NULL: the one of conf_file */
  const char *user;
  const char *pool;
};

int librbd_subject_open(const struct librbd_place *place, struct subject **ret_subject,
                        struct error **err);
void librbd_subject_close(struct subject *subject);
DEFINE_CLEANUP(struct subject *, librbd_subject_close)

/* Makes an image, opens it, and returns with it open when stdin ends: a client at rest. */
int librbd_subject_idle(struct subject *subject, const char *name, struct error **err);

#endif
