/* SPDX-License-Identifier: Apache-2.0 */
/* The qemu-storage-daemon that opens one volume's image through librbd and shows it as a file. It
 * is in a session of its own and outlives a restart of this program. */
#ifndef NODEPLUGIN_FUSE_DAEMON_H
#define NODEPLUGIN_FUSE_DAEMON_H

#include "nodeplugin/fuse_place.h"

#define FUSE_DAEMON_PROGRAM "qemu-storage-daemon"
/* What it calls the image. */
#define FUSE_DAEMON_NODE "image"

/* Until the image is shown: by a daemon that runs, or by a new one. */
int fuse_daemon_ensure(const struct mapper_env *env, const struct map_request *request,
                       const struct fuse_place *place, struct error **err);
/* In order: librbd may hold what was written and is not in Ceph yet. One that does not end, because
 * the cluster is away, is killed by force alone, or when nothing can have been written through it;
 * else UNAVAILABLE. */
int fuse_daemon_stop(const struct fuse_place *place, bool is_forced, struct error **err);

#endif
