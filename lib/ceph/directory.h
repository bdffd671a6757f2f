/* SPDX-License-Identifier: Apache-2.0 */
/* Which images a location holds: names and ids. An id is given once and stays through a rename. */
#ifndef LIB_CEPH_DIRECTORY_H
#define LIB_CEPH_DIRECTORY_H

#include <stddef.h>

#include "lib/ceph/location.h"

/* NOT_FOUND when there is none. An entry may belong to an image that was never finished. */
int directory_id_of(struct location *location, const char *name, char **ret_id, struct error **err);
/* NOT_FOUND also for an image that is in the trash. */
int directory_name_of(struct location *location, const char *id, char **ret_name,
                      struct error **err);

/* The id that the name leads librbd to, which is written behind the entry in the directory; to be
 * freed. 0, or what Ceph answered. */
int directory_read_name(struct location *location, const char *name, char **ret_id);
/* Removes that alone, if it leads to this id; the entry in the directory stays. 0, also when it was
 * not there, or what Ceph answered. */
int directory_remove_name(struct location *location, const char *name, const char *id);

/* Takes the image out of the location, by name and id: neither an image that has got another name
 * meanwhile nor another one of this name is touched. 0, also when it was not there, or what Ceph
 * answered. */
int directory_remove(struct location *location, const char *name, const char *id);

/* Gives the image another name; NOT_FOUND when it has not the old one (any more). Whoever has it
 * open is not told. Killed half-way, it can be done again. */
int directory_rename(struct location *location, const char *from, const char *to, const char *id,
                     struct error **err);

/* A rename by librbd that was killed may leave a name that leads to an image which has another one,
 * and which nobody can use. Frees it; 0 also when there is none. */
int directory_drop_stray_name(struct location *location, const char *name, struct error **err);

struct directory_entry {
  char *name;
  char *id;
};

struct directory {
  struct directory_entry *entries; /* sorted by name */
  size_t count;
};

/* The images whose name begins with prefix. */
int directory_list(struct location *location, const char *prefix, struct directory *ret_directory,
                   struct error **err);
void directory_clear(struct directory *directory);

/* Whether any image's name begins with prefix; also when that cannot be told. */
bool directory_may_have(struct location *location, const char *prefix);

/* Where a name is taken: the index of the first of `locations` that has an image of this name, -1
 * when none has. */
int directory_find_name(const struct locations *locations, const char *name);

#endif
