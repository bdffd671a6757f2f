/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files that are small: credentials and configuration. */
#ifndef LIB_KUBE_SMALL_FILE_H
#define LIB_KUBE_SMALL_FILE_H

#include "lib/base/error.h"

#define SMALL_FILE_MAX_BYTES (4 << 20)

/* As text, to be freed. */
int small_file_read(const char *path, char **ret_text, struct error **err);
/* Without white space at its end. */
int small_file_read_line(const char *path, char **ret_text, struct error **err);

#endif
