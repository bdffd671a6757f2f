/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a class, a line "name=value" each. What is taken adds up, and its record on an
 * image is recognised as the same request; what is refused is refused with a reason. */
#include <string.h>

#include "csi/volume/image_features.h"
#include "csi/volume/limits.h"
#include "csi/volume/parameters.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/fuzz/fuzz.h"

static void
read_map(const uint8_t *data, size_t size, struct string_map *map)
{
  CLEANUP(freep) char *text = xstrndup((const char *)data, size);
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n"));) {
    char *value = strchr(line, '=');
    if (value)
      *value++ = '\0';
    string_map_set(map, line, value ? value : "");
  }
}

static void
check_refused(const struct error *err)
{
  CHECK(err && err->code == ERROR_INVALID_ARGUMENT);
  CHECK(*err->message && strlen(err->message) < 1024);
}

static void
check_taken(const struct volume_parameters *p, const struct string_map *given)
{
  CHECK(p->pool && *p->pool && p->name_space);
  CHECK(!p->cluster_id || text_is_plain_name(p->cluster_id, 36));
  CHECK(p->order == 0 || (p->order >= 12 && p->order <= 25));
  CHECK(!p->stripe_unit == !p->stripe_count);
  CHECK(!p->stripe_unit || (1ULL << (p->order ? p->order : 22)) % p->stripe_unit == 0);
  CHECK(p->features & IMAGE_FEATURE_LAYERING);
  CHECK(p->settings.count + p->labels.count == given->count);
}

static void
check_record(const struct volume_parameters *p)
{
  const struct record record = {.name = "name", .source = "", .parameters = p};
  struct string_map metadata = {0}, inherited = {0}, context = {0};
  record_write_ready(&record, "id", &metadata);
  CHECK(record_is_ready(&metadata, "id") && !record_is_copying(&metadata, "id"));
  CHECK(record_compare(&record, &metadata, NULL) == 0);
  record_list_inherited(&metadata, &inherited);
  CHECK(inherited.count == metadata.count);
  record_volume_context(&metadata, &context);
  CHECK(string_map_get(&context, "pool"));
  string_map_clear(&metadata);
  string_map_clear(&inherited);
  string_map_clear(&context);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(error_freep) struct error *limits_err = NULL;
  struct string_map given = {0}, metadata = {0};
  struct volume_parameters parameters;
  read_map(data, size, &given);
  if (volume_parameters_parse(&given, &parameters, &err) < 0) {
    check_refused(err);
  } else {
    check_taken(&parameters, &given);
    check_record(&parameters);
    volume_parameters_clear(&parameters);
  }
  if (limits_parse(&given, &metadata, &limits_err) < 0)
    check_refused(limits_err);
  else
    CHECK(metadata.count == given.count);
  (void)snapshot_parameters_check(&given, NULL);
  string_map_clear(&metadata);
  string_map_clear(&given);
  return 0;
}
