/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/script.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "bench/process_use.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define IN_FLIGHT_MAX 1024
#define COUNT_MAX 1000000
#define DEFAULT_CAP_SECONDS 600

DEFINE_CLEANUP(struct json_object *, json_object_put)

struct line {
  char *name;
  struct measure_spec spec;
};

static int
parse_number(char **rest, uint64_t min, uint64_t max, uint64_t *ret_number)
{
  const char *text = strsep(rest, ":");
  if (!text || text_to_u64(text, 10, ret_number) < 0)
    return -1;
  return *ret_number < min || *ret_number > max ? -1 : 0;
}

/* The name points into text, which is taken apart. */
static int
parse_line(const struct script *script, char *text, struct line *ret_line, struct error **err)
{
  uint64_t in_flight, count, cap_seconds = DEFAULT_CAP_SECONDS;
  char *rest = text;
  char *name = strsep(&rest, ":");
  if (parse_number(&rest, 1, IN_FLIGHT_MAX, &in_flight) < 0 ||
      parse_number(&rest, 0, COUNT_MAX, &count) < 0 ||
      (rest && (parse_number(&rest, 1, 86400, &cap_seconds) < 0 || rest)))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%s': PHASE:IN_FLIGHT:COUNT[:CAP_SECONDS] is needed", name);
  *ret_line = (struct line){.name = name,
                            .spec = {.in_flight = (unsigned)in_flight,
                                     .count = count,
                                     .timeout_ms = script->timeout_ms,
                                     .cap_ms = (int64_t)cap_seconds * 1000}};
  return 0;
}

static void
add_number(struct json_object *object, const char *key, double value)
{
  json_object_object_add(object, key, json_object_new_double(value));
}

static void
add_count(struct json_object *object, const char *key, uint64_t value)
{
  json_object_object_add(object, key, json_object_new_uint64(value));
}

static struct json_object *
describe(const struct line *line, const struct measurement *m)
{
  struct json_object *object = json_object_new_object();
  json_object_object_add(object, "phase", json_object_new_string(line->name));
  add_count(object, "in_flight", line->spec.in_flight);
  add_count(object, "succeeded", m->succeeded);
  add_count(object, "failed", m->failed);
  add_count(object, "unfinished", m->unfinished);
  add_count(object, "retries", m->retries);
  add_number(object, "seconds", m->seconds);
  add_number(object, "per_second", m->seconds > 0 ? (double)m->succeeded / m->seconds : 0);
  add_number(object, "p50_ms", measurement_percentile_ms(m, 0.5));
  add_number(object, "p90_ms", measurement_percentile_ms(m, 0.9));
  add_number(object, "p99_ms", measurement_percentile_ms(m, 0.99));
  if (m->first_error)
    json_object_object_add(object, "first_error", json_object_new_string(m->first_error));
  return object;
}

static void
describe_process(struct json_object *object, const struct process_use *before,
                 const struct process_use *after)
{
  add_count(object, "rss_kib_before", before->rss_kib);
  add_count(object, "rss_kib_after", after->rss_kib);
  add_count(object, "anon_kib_before", before->anon_kib);
  add_count(object, "anon_kib_after", after->anon_kib);
  add_count(object, "threads", after->threads);
  add_count(object, "cpu_ms", after->cpu_ms - before->cpu_ms);
}

static int
run_line(const struct script *script, char *text, struct error **err)
{
  struct line line;
  struct measurement measurement;
  struct process_use before, after;
  if (parse_line(script, text, &line, err) < 0)
    return -1;
  if (script->pid && process_use_read(script->pid, &before) < 0)
    return error_set(err, ERROR_NOT_FOUND, "there is no process %d", (int)script->pid);
  if (phases_run(script->phases, line.name, &line.spec, &measurement, err) < 0)
    return -1;
  CLEANUP(json_object_putp) struct json_object *object = describe(&line, &measurement);
  measurement_clear(&measurement);
  if (script->pid && process_use_read(script->pid, &after) == 0)
    describe_process(object, &before, &after);
  (void)puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
  (void)fflush(stdout);
  return 0;
}

int
script_run(const struct script *script, char *const *lines, size_t count, struct error **err)
{
  for (size_t i = 0; i < count; i++) {
    CLEANUP(freep) char *copy = xstrdup(lines[i]);
    if (run_line(script, copy, err) < 0)
      return -1;
  }
  char line[256];
  while (count == 0 && fgets(line, sizeof(line), stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (run_line(script, line, err) < 0)
      return -1;
  }
  return 0;
}
