/* SPDX-License-Identifier: Apache-2.0 */
/* The check against protobuf-c itself: what protobuf-c packs is never called malformed, so no
 * caller is refused for a message that is fine. And a message that holds itself, which CSI has not,
 * does not lead the check into the deep. */
#include <stddef.h>
#include <string.h>

#include "csi/rpc/message_check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_walk.h"
#include "tests/fuzz/requests.h"

struct nested {
  ProtobufCMessage base;
  struct nested *inner;
  char *text;
};

static const ProtobufCMessageDescriptor nested_type;
static const ProtobufCFieldDescriptor nested_fields[] = {{.name = "inner",
                                                          .id = 1,
                                                          .label = PROTOBUF_C_LABEL_OPTIONAL,
                                                          .type = PROTOBUF_C_TYPE_MESSAGE,
                                                          .offset = offsetof(struct nested, inner),
                                                          .descriptor = &nested_type},
                                                         {.name = "text",
                                                          .id = 2,
                                                          .label = PROTOBUF_C_LABEL_OPTIONAL,
                                                          .type = PROTOBUF_C_TYPE_STRING,
                                                          .offset = offsetof(struct nested, text)}};
static const unsigned nested_by_name[] = {0, 1};
static const ProtobufCIntRange nested_ranges[] = {{1, 0}, {0, 2}};
static const ProtobufCMessageDescriptor nested_type = {.magic =
                                                           PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
                                                       .name = "Nested",
                                                       .short_name = "Nested",
                                                       .sizeof_message = sizeof(struct nested),
                                                       .n_fields = 2,
                                                       .fields = nested_fields,
                                                       .fields_sorted_by_name = nested_by_name,
                                                       .n_field_ranges = 1,
                                                       .field_ranges = nested_ranges};

/* Unknown fields are packed as they came, be they good or bad: they prove nothing. */
static void
drop_unknown_fields(const ProtobufCMessage *message, const char *string, void *context)
{
  (void)string;
  (void)context;
  if (!message)
    return;
  ProtobufCMessage *changed = (ProtobufCMessage *)message; /* ours: we unpacked it */
  for (unsigned i = 0; i < changed->n_unknown_fields; i++)
    free(changed->unknown_fields[i].data);
  free(changed->unknown_fields);
  changed->unknown_fields = NULL;
  changed->n_unknown_fields = 0;
}

static void
check_packed(const ProtobufCMessage *message)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) uint8_t *packed = malloc(protobuf_c_message_get_packed_size(message) + 1);
  size_t len = protobuf_c_message_pack(message, packed);
  if (message_check(message->descriptor, packed, len, &err) == 0)
    return;
  /* a NUL has ended its string by now; a map is as large as it came */
  CHECK(strstr(err->message, "is not valid UTF-8") || strstr(err->message, "has more than"));
}

static void
try_request(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size)
{
  CLEANUP(error_freep) struct error *err = NULL;
  int r = message_check(type, data, size, &err);
  CHECK(r == 0 || (err && err->code == ERROR_INVALID_ARGUMENT && *err->message));
  ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, size, data);
  if (!message)
    return;
  message_walk(message, drop_unknown_fields, NULL);
  check_packed(message);
  protobuf_c_message_free_unpacked(message, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  try_request(requests[data[0] % REQUESTS], data + 1, size - 1);
  (void)message_check(&nested_type, data + 1, size - 1, NULL);
  return 0;
}
