/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/message_walk.h"

#include <stdbool.h>

static void
walk_value(const ProtobufCFieldDescriptor *field, const void *member, message_visit *visit,
           void *context)
{
  const void *value = *(const void *const *)member;
  if (value && field->type == PROTOBUF_C_TYPE_STRING)
    visit(NULL, value, context);
  else if (value)
    message_walk(value, visit, context);
}

static bool
is_set(const ProtobufCFieldDescriptor *field, const char *message)
{
  return !(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
         *(const uint32_t *)(const void *)(message + field->quantifier_offset) == field->id;
}

void
message_walk(const ProtobufCMessage *message, message_visit *visit, void *context)
{
  const char *start = (const char *)message;
  visit(message, NULL, context);
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
    const void *member = start + field->offset;
    if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
      continue;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
      size_t count = *(const size_t *)(const void *)(start + field->quantifier_offset);
      for (size_t at = 0; at < count; at++)
        walk_value(field, *(const char *const *)member + at * sizeof(void *), visit, context);
    } else if (is_set(field, start)) {
      walk_value(field, member, visit, context);
    }
  }
}
