/* SPDX-License-Identifier: Apache-2.0 */
/* A path that the container orchestrator has named for a mount.
 *
 * It must lie in kubelet's own folder and is walked without following a single symbolic link, so
 * that neither a wrong caller nor a pod that can write below one of the folders leads a mount, or
 * an unmount, to another place of the host. What is done afterwards goes by the descriptor of its
 * parent folder, not by the text. */
#ifndef NODEPLUGIN_TARGET_PATH_H
#define NODEPLUGIN_TARGET_PATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "lib/base/error.h"

struct target_path {
  int parent;  /* O_PATH of the folder it is in */
  char *name;  /* in that folder */
  char *real;  /* the whole of it, as the mount table spells it */
  char *by_fd; /* "/proc/self/fd/N/name": for calls that take nothing but text */
};

/* kubelet's folder. It may be reached by a symbolic link, as after a move to a larger disk; then
 * kubelet spells its paths by the link. */
struct target_base {
  const char *real;  /* as realpath() has it, and the mount table */
  const char *given; /* as it was configured */
};

/* The path as the mount table spells it, to be freed; a path that lies elsewhere stays as it is. */
char *target_base_resolve(const struct target_base *base, const char *path);

/* INVALID_ARGUMENT for a path that is not to be
 * used, `field` says which one of the request; NOT_FOUND when its parent folder is not there. */
int target_path_open(const struct target_base *base, const char *field, const char *path,
                     struct target_path *ret_target, struct error **err);
void target_path_clear(struct target_path *target);

/* What is there, without following a link: false when nothing is. */
bool target_path_stat(const struct target_path *target, struct stat *ret_stat);
/* Makes a folder, or an empty file, to mount on; fine when one is there. */
int target_path_make_folder(const struct target_path *target, struct error **err);
int target_path_make_file(const struct target_path *target, struct error **err);
/* Removes what target_path_make_folder() or _file() has made; fine when it is gone. What holds
 * something, or is neither, stays: FAILED_PRECONDITION. */
int target_path_remove(const struct target_path *target, struct error **err);

#endif
