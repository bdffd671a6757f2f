/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mkfs_options.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/memory.h"

/* Letters of options that take a value. Left out of ext4: -d (copies a folder of the host), -J
 * device=, -l (reads a file), -F, -n, -S, -u; of xfs: -p (reads a file), -r, -l logdev=. */
#define EXT4_WITH_VALUE "bCEgGiImNOT"
#define EXT4_ALONE "jv"
#define XFS_WITH_VALUE "bdilmns"
#define XFS_ALONE "K"

/* Values name sizes and features; none needs a path. */
static bool
is_plain_value(const char *word)
{
  size_t len = strlen(word);
  return len > 0 && len <= 256 &&
         strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=,^.:") ==
             len &&
         !strstr(word, "name=") && !strstr(word, "file") && !strstr(word, "dev=") &&
         !strstr(word, "offset=");
}

static int
check_words(const char *fs_type, const struct mkfs_options *options, struct error **err)
{
  bool is_xfs = strcmp(fs_type, "xfs") == 0;
  const char *with_value = is_xfs ? XFS_WITH_VALUE : EXT4_WITH_VALUE;
  const char *alone = is_xfs ? XFS_ALONE : EXT4_ALONE;
  for (size_t i = 0; i < options->count; i++) {
    const char *word = options->words[i];
    if (word[0] != '-' || !word[1] || (!strchr(with_value, word[1]) && !strchr(alone, word[1])))
      return error_set(err, ERROR_INVALID_ARGUMENT, "mkfsOptions: '%.64s' is not allowed for %s",
                       word, fs_type);
    if (strchr(alone, word[1])) {
      if (word[2])
        return error_set(err, ERROR_INVALID_ARGUMENT, "mkfsOptions: '%.64s' is not allowed for %s",
                         word, fs_type);
      continue;
    }
    const char *value = word[2] ? word + 2 : i + 1 < options->count ? options->words[++i] : "";
    if (!is_plain_value(value))
      return error_set(err, ERROR_INVALID_ARGUMENT,
                       "mkfsOptions: the value '%.64s' of '%.2s' is not allowed", value, word);
  }
  return 0;
}

int
mkfs_options_parse(const char *fs_type, const char *text, struct mkfs_options *ret_options,
                   struct error **err)
{
  struct mkfs_options options = {0};
  for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
    size_t len = strcspn(text, " ");
    if (options.count == MKFS_WORDS_MAX) {
      mkfs_options_clear(&options);
      return error_set(err, ERROR_INVALID_ARGUMENT, "mkfsOptions: more than %d words",
                       MKFS_WORDS_MAX);
    }
    options.words[options.count++] = xstrndup(text, len);
    text += len;
  }
  if (check_words(fs_type, &options, err) < 0) {
    mkfs_options_clear(&options);
    return -1;
  }
  *ret_options = options;
  return 0;
}

void
mkfs_options_clear(struct mkfs_options *options)
{
  for (size_t i = 0; i < options->count; i++)
    free(options->words[i]);
  *options = (struct mkfs_options){0};
}
