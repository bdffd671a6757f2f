/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of the test's own, gone with what it holds when the scope ends:
 *
 *   CLEANUP(temp_dir_removep) char *dir = temp_dir_make(); */
#ifndef TESTS_UNIT_TEMP_DIR_H
#define TESTS_UNIT_TEMP_DIR_H

#include "lib/base/cleanup.h"

/* Short enough for a socket in it. */
char *temp_dir_make(void);
/* Frees the path too. */
void temp_dir_remove(char *dir);
DEFINE_CLEANUP(char *, temp_dir_remove)

/* dir/name, to be freed. */
char *temp_dir_path(const char *dir, const char *name);
/* Replaces the file in one step, as Kubernetes does with a mounted ConfigMap. */
void temp_dir_write(const char *dir, const char *name, const char *text);
/* What the file holds, to be freed; NULL when there is none. */
char *temp_dir_read(const char *dir, const char *name);

#endif
