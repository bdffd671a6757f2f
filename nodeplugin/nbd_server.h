/* SPDX-License-Identifier: Apache-2.0 */
/* The rbd-nbd process behind a volume's nbd device.
 *
 * It is in a session of its own and outlives this program. It holds a lock of the file
 * RUN_DIR/nbd.<image id>: that is how its life or death is told, because the kernel goes on telling
 * the pid of the first one when another has taken its place. */
#ifndef NODEPLUGIN_NBD_SERVER_H
#define NODEPLUGIN_NBD_SERVER_H

#include "lib/base/subprocess.h"
#include "nodeplugin/mapper.h"

#define NBD_SERVER_PROGRAM "rbd-nbd"
#define NBD_COOKIE_PREFIX "imprint:"

/* What the kernel keeps with a device and tells in sysfs, and what stands on the command line of
 * its process: the volume's id behind a prefix. To be freed. */
char *nbd_server_cookie(const struct volume_id *id);

bool nbd_server_runs(const struct mapper_env *env, const struct volume_id *id);
/* device: one to take over, or NULL for a new one. log: a file for what it says. */
int nbd_server_start(const struct mapper_env *env, const struct map_request *request,
                     const char *device, int log, struct subprocess **ret_server,
                     struct error **err);
/* kill -9, whoever has the volume's cookie among its words: what it has not written is lost. */
void nbd_server_kill(const struct volume_id *id);
/* Removes what is left of one that has ended. */
void nbd_server_forget(const struct mapper_env *env, const struct volume_id *id);

#endif
