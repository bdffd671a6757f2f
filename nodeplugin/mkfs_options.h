/* SPDX-License-Identifier: Apache-2.0 */
/* What a StorageClass's mkfsOptions may ask of mkfs: how the filesystem is laid out, and nothing
 * that reads files of the host or writes to other devices. */
#ifndef NODEPLUGIN_MKFS_OPTIONS_H
#define NODEPLUGIN_MKFS_OPTIONS_H

#include <stddef.h>

#include "lib/base/error.h"

/* Most words. */
#define MKFS_WORDS_MAX 32

struct mkfs_options {
  char *words[MKFS_WORDS_MAX];
  size_t count;
};

/* text is as on a command line, words with blanks between them: "-m 0 -O ^has_journal".
 * INVALID_ARGUMENT that names the word. */
int mkfs_options_parse(const char *fs_type, const char *text, struct mkfs_options *ret_options,
                       struct error **err);
void mkfs_options_clear(struct mkfs_options *options);

#endif
