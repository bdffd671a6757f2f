/* SPDX-License-Identifier: Apache-2.0 */
/* A mount table that is taken has all its fields, and what is found in it is in it. */
#include <string.h>

#include "lib/base/memory.h"
#include "nodeplugin/mount_table.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(freep) char *text = xstrndup((const char *)data, size);
  CLEANUP(error_freep) struct error *err = NULL;
  struct mount_table table;
  if (mount_table_parse(text, &table, &err) < 0) {
    CHECK(err && err->code == ERROR_INTERNAL && strlen(err->message) < 256);
    return 0;
  }
  for (size_t i = 0; i < table.count; i++) {
    const struct mount_entry *entry = &table.entries[i];
    CHECK(entry->root && entry->mount_point && entry->type && entry->source);
    const struct mount_entry *at = mount_table_at(&table, entry->mount_point);
    CHECK(at && at >= entry && strcmp(at->mount_point, entry->mount_point) == 0);
    CHECK(mount_table_of_device(&table, entry->device, NULL)->device == entry->device);
  }
  mount_table_clear(&table);
  return 0;
}
