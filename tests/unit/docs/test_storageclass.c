/* SPDX-License-Identifier: Apache-2.0 */
/* Holds docs/storageclass.md to the parameters there are: its table under "## StorageClass" names,
 * in the first column and in backticks, each of them and no other. */
#include <string.h>

#include "csi/volume/parameters.h"
#include "lib/base/memory.h"
#include "lib/base/string_map.h"
#include "lib/base/text.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

/* Adds what stands in backticks in the first cell of a table row. */
static void
collect_first_cell(const char *line, struct string_map *names)
{
  const char *end = strchr(line + 1, '|');
  for (const char *at = line; end && (at = strchr(at, '`')) && at < end;) {
    const char *close = strchr(at + 1, '`');
    if (!close)
      return;
    CLEANUP(freep) char *name = xstrndup(at + 1, (size_t)(close - at - 1));
    string_map_set(names, name, "");
    at = close + 1;
  }
}

static void
collect_documented(struct string_map *names)
{
  CLEANUP(freep) char *text = temp_dir_read(PROJECT_SOURCE_DIR, "docs/storageclass.md");
  REQUIRE(text);
  bool is_in_section = false;
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n"));) {
    if (text_starts_with(line, "## "))
      is_in_section = strcmp(line, "## StorageClass") == 0;
    if (is_in_section && text_starts_with(line, "| `"))
      collect_first_cell(line, names);
  }
}

static void
test_every_parameter_is_documented(void)
{
  struct string_map documented = {0};
  collect_documented(&documented);
  for (const char *const *name = volume_parameter_names(); *name; name++)
    CHECK_ROW(string_map_get(&documented, *name) != NULL, *name);
  string_map_clear(&documented);
}

static void
test_every_documented_parameter_is_known(void)
{
  struct string_map documented = {0};
  collect_documented(&documented);
  for (size_t i = 0; i < documented.count; i++) {
    bool is_known = false;
    for (const char *const *name = volume_parameter_names(); *name; name++)
      is_known = is_known || strcmp(*name, documented.entries[i].key) == 0;
    CHECK_ROW(is_known, documented.entries[i].key);
  }
  string_map_clear(&documented);
}

UNIT_MAIN("docs/storageclass", UNIT_TEST(test_every_parameter_is_documented),
          UNIT_TEST(test_every_documented_parameter_is_known))
