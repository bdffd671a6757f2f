/* SPDX-License-Identifier: Apache-2.0 */
/* A node makes a filesystem on a blank image: a mark in the image's metadata, with its id, because
 * clones get it too. What is in the image until the mark is removed is half a filesystem and
 * nobody's data; whoever finds the mark formats once more. So whoever puts data into an image by
 * other means removes the mark first. */
#ifndef LIB_CEPH_FORMATTING_MARK_H
#define LIB_CEPH_FORMATTING_MARK_H

#include <stdbool.h>

#include "lib/base/string_map.h"

void formatting_mark_write(const char *image_id, struct string_map *metadata);
bool formatting_mark_is_there(const struct string_map *metadata, const char *image_id);
/* Its key, for header_update_metadata() to remove. */
void formatting_mark_list(struct string_map *ret_keys);

#endif
