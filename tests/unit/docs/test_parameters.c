/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the documentation to the parameters there are: a table names, in the first column and in
 * backticks, each of them and no other. */
#include <string.h>

#include "csi/volume/inline_request.h"
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

/* Those of the tables in a section of a page. */
static void
collect_documented(const char *page, const char *section, struct string_map *names)
{
  CLEANUP(freep) char *text = temp_dir_read(PROJECT_SOURCE_DIR, page);
  REQUIRE(text);
  bool is_in_section = false;
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n"));) {
    if (text_starts_with(line, "## "))
      is_in_section = strcmp(line, section) == 0;
    if (is_in_section && text_starts_with(line, "| `"))
      collect_first_cell(line, names);
  }
}

static void
check(const char *page, const char *section, const char *const *known)
{
  struct string_map documented = {0};
  collect_documented(page, section, &documented);
  for (const char *const *name = known; *name; name++)
    CHECK_ROW(string_map_get(&documented, *name) != NULL, *name);
  for (size_t i = 0; i < documented.count; i++) {
    bool is_known = false;
    for (const char *const *name = known; *name; name++)
      is_known = is_known || strcmp(*name, documented.entries[i].key) == 0;
    CHECK_ROW(is_known, documented.entries[i].key);
  }
  string_map_clear(&documented);
}

static void
test_storage_class_parameters(void)
{
  check("docs/storageclass.md", "## StorageClass", volume_parameter_names());
}

static void
test_attributes_of_inline_volumes(void)
{
  check("docs/node.md", "## Inline volumes", inline_attribute_names());
}

UNIT_MAIN("docs/parameters", UNIT_TEST(test_storage_class_parameters),
          UNIT_TEST(test_attributes_of_inline_volumes))
