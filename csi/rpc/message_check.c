/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/message_check.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/text.h"

/* CSI's messages nest at most five deep. */
#define DEPTH_MAX 16
/* CSI allows a map 4 KiB in all, which is less than this; a message could hold tens of thousands.
 */
#define MAP_ENTRIES_MAX 1024

enum wire_type { WIRE_VARINT = 0, WIRE_64BIT = 1, WIRE_LENGTH = 2, WIRE_32BIT = 5 };

struct cursor {
  const uint8_t *at;
  size_t left;
};

static bool
get_varint(struct cursor *c, uint64_t *ret_value)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && c->left > 0; shift += 7) {
    uint8_t byte = *c->at;
    c->at++;
    c->left--;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *ret_value = value;
      return true;
    }
  }
  return false;
}

static bool
skip(struct cursor *c, uint64_t len)
{
  if (len > c->left)
    return false;
  c->at += len;
  c->left -= (size_t)len;
  return true;
}

/* A message that is looked through. */
struct walk {
  const ProtobufCMessageDescriptor *descriptor;
  struct cursor rest;
  unsigned depth;
  size_t map_entries; /* in all of its own maps */
};

static int check(struct walk walk, struct error **err);

static bool
is_map(const ProtobufCFieldDescriptor *field)
{
  const ProtobufCMessageDescriptor *entry = field->descriptor;
  return field->label == PROTOBUF_C_LABEL_REPEATED && entry->n_fields == 2 &&
         strcmp(entry->fields[0].name, "key") == 0 && strcmp(entry->fields[1].name, "value") == 0;
}

static int
check_message_field(struct walk *walk, const ProtobufCFieldDescriptor *field, struct cursor value,
                    struct error **err)
{
  if (is_map(field) && ++walk->map_entries > MAP_ENTRIES_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "field '%s' has more than %d entries",
                     field->name, MAP_ENTRIES_MAX);
  struct walk inner = {.descriptor = field->descriptor, .rest = value, .depth = walk->depth + 1};
  return check(inner, err) < 0 ? error_wrap(err, "field '%s'", field->name) : 0;
}

static int
check_length_field(struct walk *walk, const ProtobufCFieldDescriptor *field, struct cursor value,
                   struct error **err)
{
  if (field->type == PROTOBUF_C_TYPE_MESSAGE)
    return check_message_field(walk, field, value, err);
  if (field->type != PROTOBUF_C_TYPE_STRING)
    return 0;
  if (!text_is_utf8((const char *)value.at, value.left))
    return error_set(err, ERROR_INVALID_ARGUMENT, "field '%s' is not valid UTF-8", field->name);
  if (memchr(value.at, 0, value.left))
    return error_set(err, ERROR_INVALID_ARGUMENT, "field '%s' holds a NUL character", field->name);
  return 0;
}

static int
malformed(const ProtobufCMessageDescriptor *descriptor, struct error **err)
{
  return error_set(err, ERROR_INVALID_ARGUMENT, "the request is not a well-formed %s message",
                   descriptor->short_name);
}

/* One field: its key and its value. */
static int
check_field(struct walk *walk, struct error **err)
{
  struct cursor *c = &walk->rest;
  uint64_t key;
  uint64_t number;
  if (!get_varint(c, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
    return malformed(walk->descriptor, err);
  switch (key & 7) {
  case WIRE_VARINT:
    return get_varint(c, &number) ? 0 : malformed(walk->descriptor, err);
  case WIRE_64BIT:
    return skip(c, 8) ? 0 : malformed(walk->descriptor, err);
  case WIRE_32BIT:
    return skip(c, 4) ? 0 : malformed(walk->descriptor, err);
  case WIRE_LENGTH:
    break;
  default:
    return malformed(walk->descriptor, err);
  }
  if (!get_varint(c, &number))
    return malformed(walk->descriptor, err);
  struct cursor value = {.at = c->at, .left = (size_t)number};
  if (!skip(c, number))
    return malformed(walk->descriptor, err);
  const ProtobufCFieldDescriptor *field =
      protobuf_c_message_descriptor_get_field(walk->descriptor, (unsigned)(key >> 3));
  return field ? check_length_field(walk, field, value, err) : 0;
}

static int
check(struct walk walk, struct error **err)
{
  if (walk.depth > DEPTH_MAX)
    return malformed(walk.descriptor, err);
  while (walk.rest.left > 0) {
    if (check_field(&walk, err) < 0)
      return -1;
  }
  return 0;
}

int
message_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t len,
              struct error **err)
{
  return check((struct walk){.descriptor = descriptor, .rest = {.at = data, .left = len}}, err);
}
