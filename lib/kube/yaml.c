/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/yaml.h"

#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "lib/base/text.h"

#define DEPTH_MAX 32

struct reader {
  yaml_parser_t parser;
  unsigned depth;
};

static int read_value(struct reader *reader, const yaml_event_t *event,
                      struct json_object **ret_value, struct error **err);

static int
next_event(struct reader *reader, yaml_event_t *ret_event, struct error **err)
{
  if (yaml_parser_parse(&reader->parser, ret_event))
    return 0;
  *ret_event = (yaml_event_t){0};
  return error_set(err, ERROR_INVALID_ARGUMENT, "not YAML in line %zu: %s",
                   reader->parser.problem_mark.line + 1, reader->parser.problem);
}

/* A plain scalar may be null, a truth value or a whole number; a quoted one is text. Other numbers
 * stay text: nothing read here has any. */
static struct json_object *
value_of_scalar(const yaml_event_t *event)
{
  const char *text = (const char *)event->data.scalar.value;
  uint64_t number;
  if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
    return json_object_new_string(text);
  if (!*text || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0)
    return NULL;
  if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
    return json_object_new_boolean(strcasecmp(text, "true") == 0);
  bool is_negative = *text == '-';
  if (text_to_u64(text + is_negative, 10, &number) == 0 && number <= INT64_MAX)
    return json_object_new_int64(is_negative ? -(int64_t)number : (int64_t)number);
  return json_object_new_string(text);
}

static int
read_sequence(struct reader *reader, struct json_object *array, struct error **err)
{
  for (;;) {
    yaml_event_t event;
    if (next_event(reader, &event, err) < 0)
      return -1;
    struct json_object *item = NULL;
    bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
    int r = is_end ? 0 : read_value(reader, &event, &item, err);
    yaml_event_delete(&event);
    if (is_end || r < 0)
      return r;
    json_object_array_add(array, item);
  }
}

/* The value that belongs to the key in `event`. */
static int
read_member(struct reader *reader, const yaml_event_t *event, struct json_object *object,
            struct error **err)
{
  if (event->type != YAML_SCALAR_EVENT)
    return error_set(err, ERROR_INVALID_ARGUMENT, "not usable YAML in line %zu: a key is no text",
                     event->start_mark.line + 1);
  yaml_event_t value_event;
  if (next_event(reader, &value_event, err) < 0)
    return -1;
  struct json_object *value = NULL;
  int r = read_value(reader, &value_event, &value, err);
  yaml_event_delete(&value_event);
  if (r == 0)
    json_object_object_add(object, (const char *)event->data.scalar.value, value);
  return r;
}

static int
read_mapping(struct reader *reader, struct json_object *object, struct error **err)
{
  for (;;) {
    yaml_event_t event;
    if (next_event(reader, &event, err) < 0)
      return -1;
    bool is_end = event.type == YAML_MAPPING_END_EVENT;
    int r = is_end ? 0 : read_member(reader, &event, object, err);
    yaml_event_delete(&event);
    if (is_end || r < 0)
      return r;
  }
}

static int
read_collection(struct reader *reader, const yaml_event_t *event, struct json_object **ret_value,
                struct error **err)
{
  if (reader->depth >= DEPTH_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "YAML is nested too deeply in line %zu",
                     event->start_mark.line + 1);
  bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
  CLEANUP(json_object_putp)
  struct json_object *value = is_mapping ? json_object_new_object() : json_object_new_array();
  reader->depth++;
  int r = is_mapping ? read_mapping(reader, value, err) : read_sequence(reader, value, err);
  reader->depth--;
  if (r == 0)
    *ret_value = TAKE(value);
  return r;
}

static int
read_value(struct reader *reader, const yaml_event_t *event, struct json_object **ret_value,
           struct error **err)
{
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    *ret_value = value_of_scalar(event);
    return 0;
  case YAML_MAPPING_START_EVENT:
  case YAML_SEQUENCE_START_EVENT:
    return read_collection(reader, event, ret_value, err);
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "not usable YAML in line %zu: aliases are not taken",
                     event->start_mark.line + 1);
  }
}

/* Stream and document begin with events of their own. */
static int
read_document(struct reader *reader, struct json_object **ret_value, struct error **err)
{
  for (;;) {
    yaml_event_t event;
    if (next_event(reader, &event, err) < 0)
      return -1;
    yaml_event_type_t type = event.type;
    bool is_start = type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT;
    int r = 0;
    if (type == YAML_STREAM_END_EVENT)
      r = error_set(err, ERROR_INVALID_ARGUMENT, "the YAML is empty");
    else if (!is_start)
      r = read_value(reader, &event, ret_value, err);
    yaml_event_delete(&event);
    if (!is_start)
      return r;
  }
}

int
yaml_parse(const char *text, size_t len, struct json_object **ret_value, struct error **err)
{
  struct reader reader = {0};
  if (!yaml_parser_initialize(&reader.parser))
    return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory to read YAML");
  yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, len);
  int r = read_document(&reader, ret_value, err);
  yaml_parser_delete(&reader.parser);
  return r;
}
