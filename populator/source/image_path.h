/* SPDX-License-Identifier: Apache-2.0 */
/* Paths inside an image, as they are compared: from the root on, without a '/' in front or at the
 * end, without "." and "..". "" is the root itself. They are never opened, so nothing can be broken
 * out of; a path that climbs above the root stays there, as it would in a chroot. */
#ifndef POPULATOR_SOURCE_IMAGE_PATH_H
#define POPULATOR_SOURCE_IMAGE_PATH_H

#include <stdbool.h>

/* To be freed. */
char *image_path_clean(const char *text);
/* Where a symbolic link leads: `target` as it is written, `link` the clean path of the link. To be
 * freed. */
char *image_path_follow(const char *link, const char *target);
/* Whether `path` is `folder` or lies below it; both are clean. */
bool image_path_is_within(const char *path, const char *folder);
/* The last part: "b" of "a/b". */
const char *image_path_name(const char *path);

#endif
