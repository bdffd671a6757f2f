/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of /sys and /proc, a line each. */
#ifndef NODEPLUGIN_SYSFS_H
#define NODEPLUGIN_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of FOLDER/NAME without its newline, to be freed; NULL when there is none. */
char *sysfs_read(const char *folder, const char *name);
/* Whether FOLDER/NAME holds this text. */
bool sysfs_is(const char *folder, const char *name, const char *text);
/* A number, decimal or hexadecimal with "0x"; -1 when there is none. */
int sysfs_read_u64(const char *folder, const char *name, uint64_t *ret_value);
/* In one write, as the kernel wants it; 0 or the errno. May block: the work is done in it. */
int sysfs_write(const char *path, const char *text);

/* The entries of a folder whose name begins with prefix, in the order of their numbers. */
struct sysfs_names {
  char **items;
  size_t count;
};
void sysfs_list(const char *folder, const char *prefix, struct sysfs_names *ret_names);
void sysfs_names_clear(struct sysfs_names *names);

#endif
