/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/message_check.h"

#include <csi.pb-c.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define TYPE (&csi__v1__create_volume_request__descriptor)
#define MALFORMED "the request is not a well-formed CreateVolumeRequest message"

struct row {
  const char *bytes;
  size_t len;
  const char *expected; /* what the message has; NULL when the bytes are fine */
};

/* A literal may hold NULs; the one at its end is not meant. */
#define ROW(literal, expected)                                                                     \
  {                                                                                                \
    (literal), sizeof(literal) - 1, (expected)                                                     \
  }

static int
check(const ProtobufCMessageDescriptor *type, const char *bytes, size_t len, struct error **err)
{
  /* A copy of exactly this length, so that AddressSanitizer sees a read behind it. */
  CLEANUP(freep) uint8_t *copy = xcalloc(1, len ? len : 1);
  memcpy(copy, bytes, len);
  return message_check(type, copy, len, err);
}

static void
check_rows(const struct row *rows, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_NUMBER(check(TYPE, rows[i].bytes, rows[i].len, &err), rows[i].expected ? -1 : 0);
    if (rows[i].expected)
      CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].expected);
    CU_ASSERT_PTR_NULL(err);
  }
}

#define CHECK_ROWS(rows) check_rows((rows), sizeof(rows) / sizeof((rows)[0]))

static void
test_good_messages_pass(void)
{
  static const struct row rows[] = {
      ROW("", NULL),
      ROW("\x0a\x00", NULL), /* name: "" */
      ROW("\x0a\x03"
          "abc",
          NULL),                     /* name: "abc" */
      ROW("\x0a\x02\xc3\xa9", NULL), /* name: "é" */
      ROW("\x0a\x01"
          "a\x0a\x01"
          "b",
          NULL),                                     /* given twice: the last counts */
      ROW("\x12\x02\x08\x01", NULL),                 /* capacity_range {required_bytes: 1} */
      ROW("\x22\x08\x0a\x01k\x12\x03val", NULL),     /* parameters {"k": "val"} */
      ROW("\x22\x00", NULL),                         /* an entry with neither */
      ROW("\x1a\x06\x0a\x00\x1a\x02\x08\x01", NULL), /* a capability: block, mode 1 */
  };
  CHECK_ROWS(rows);
}

static void
test_bad_strings_are_refused_by_field(void)
{
  static const struct row rows[] = {
      ROW("\x0a\x01\xff", "field 'name' is not valid UTF-8"),
      ROW("\x0a\x02\xc3z", "field 'name' is not valid UTF-8"),
      ROW("\x0a\x02\xc0\x80", "field 'name' is not valid UTF-8"),
      ROW("\x0a\x01\xc3\x0a\x01\xa9", "field 'name' is not valid UTF-8"), /* split over two */
      ROW("\x0a\x01\x00", "field 'name' holds a NUL character"),
      ROW("\x0a\x03"
          "a\0b",
          "field 'name' holds a NUL character"),
      ROW("\x0a\x02"
          "a\0",
          "field 'name' holds a NUL character"),
      ROW("\x0a\x01"
          "a\x0a\x01\xff",
          "field 'name' is not valid UTF-8"), /* the second of two */
      ROW("\x0a\x01\xff\x0a\x01"
          "a",
          "field 'name' is not valid UTF-8"), /* the first of two */
      ROW("\x22\x03\x0a\x01\xff", "field 'parameters': field 'key' is not valid UTF-8"),
      ROW("\x22\x06\x0a\x01k\x12\x01\xff", "field 'value' is not valid UTF-8"),
      ROW("\x22\x06\x0a\x01k\x12\x01\x00", "field 'value' holds a NUL character"),
      ROW("\x2a\x06\x0a\x01k\x12\x01\xff", "field 'secrets': field 'value' is not valid UTF-8"),
      ROW("\x1a\x05\x12\x03\x0a\x01\xff", "field 'fs_type' is not valid UTF-8"),
      ROW("\x1a\x08\x12\x06\x12\x01"
          "a\x12\x01\xff",
          "field 'mount_flags' is not valid UTF-8"),
      ROW("\x32\x05\x0a\x03\x0a\x01\xff", "field 'snapshot_id' is not valid UTF-8"),
  };
  CHECK_ROWS(rows);
}

static void
test_unknown_fields_pass(void)
{
  static const struct row rows[] = {
      ROW("\xa0\x06\x01", NULL),                                     /* 100: a varint */
      ROW("\xa0\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", NULL), /* … of ten bytes */
      ROW("\xa1\x06"
          "12345678",
          NULL), /* 64 bits */
      ROW("\xa5\x06"
          "1234",
          NULL),                             /* 32 bits */
      ROW("\xa2\x06\x02\xff\x00", NULL),     /* bytes, which need be no text */
      ROW("\xfa\xff\xff\xff\x0f\x00", NULL), /* number 536870911 */
      ROW("\xa2\x06\x01z\x0a\x01\xff", "field 'name' is not valid UTF-8"), /* … and a known one */
  };
  CHECK_ROWS(rows);
}

static void
test_malformed_messages_are_refused(void)
{
  static const struct row rows[] = {
      ROW("\x0a", MALFORMED),     /* no length */
      ROW("\x0a\x01", MALFORMED), /* no text */
      ROW("\x0a\x05"
          "abcd",
          MALFORMED),                                                 /* too little text */
      ROW("\x0a\x80", MALFORMED),                                     /* a length cut short */
      ROW("\x0a\xff\xff\xff\xff\x0f", MALFORMED),                     /* a length of 4 GiB */
      ROW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", MALFORMED), /* … of 2^64 - 1 */
      ROW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", MALFORMED),     /* … of 2^63 - 1 */
      ROW("\x80", MALFORMED),                                         /* a key cut short */
      ROW("\x00\x01", MALFORMED),                                     /* field 0 */
      ROW("\x02\x00", MALFORMED),
      ROW("\x0b", MALFORMED), /* a group begins */
      ROW("\x0c", MALFORMED), /* a group ends */
      ROW("\x0b\x0c", MALFORMED),
      ROW("\x0e\x00", MALFORMED), /* wire types that do not exist */
      ROW("\x0f\x00", MALFORMED),
      ROW("\x08\x80", MALFORMED),                                         /* a varint cut short */
      ROW("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", MALFORMED), /* … of eleven bytes */
      ROW("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", MALFORMED),
      ROW("\x82\x80\x80\x80\x80\x01\x00", MALFORMED),     /* a field number above 2^32 */
      ROW("\x09\x01\x02\x03\x04\x05\x06\x07", MALFORMED), /* 7 of 8 bytes */
      ROW("\x0d\x01\x02\x03", MALFORMED),                 /* 3 of 4 bytes */
      ROW("\x12\x01\x0a", "not a well-formed CapacityRange message"),
      ROW("\x22\x02\x0a\x05", "not a well-formed ParametersEntry message"),
      ROW("\x22\x05\x0a\x02k\x12\x01", "not a well-formed ParametersEntry message"),
  };
  CHECK_ROWS(rows);
}

/* A request with everything in it. */
static size_t
pack_request(uint8_t **ret_bytes, size_t *ret_boundaries)
{
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;
  Csi__V1__CreateVolumeRequest__ParametersEntry entry =
      CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT;
  Csi__V1__CreateVolumeRequest__ParametersEntry *entries[] = {&entry, &entry};
  Csi__V1__VolumeCapability capability = CSI__V1__VOLUME_CAPABILITY__INIT;
  Csi__V1__VolumeCapability__MountVolume mount = CSI__V1__VOLUME_CAPABILITY__MOUNT_VOLUME__INIT;
  Csi__V1__VolumeCapability *capabilities[] = {&capability};
  request.name = (char *)"pvc-\xe2\x82\xac";
  range.required_bytes = 1LL << 40;
  request.capacity_range = &range;
  entry.key = (char *)"pool";
  entry.value = (char *)"vms";
  request.parameters = entries;
  request.n_parameters = 2;
  mount.fs_type = (char *)"ext4";
  capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
  capability.mount = &mount;
  request.volume_capabilities = capabilities;
  request.n_volume_capabilities = 1;
  *ret_bytes = xcalloc(1, csi__v1__create_volume_request__get_packed_size(&request));
  *ret_boundaries = 1 + 1 + 1 + 2; /* name, range, capability, two parameters */
  return csi__v1__create_volume_request__pack(&request, *ret_bytes);
}

/* What is cut between two fields is a shorter message; any other cut is seen. */
static void
test_a_cut_amid_a_field_is_refused(void)
{
  CLEANUP(freep) uint8_t *bytes = NULL;
  size_t boundaries, passed = 0;
  size_t len = pack_request(&bytes, &boundaries);
  CU_ASSERT_EQUAL(check(TYPE, (const char *)bytes, len, NULL), 0);
  for (size_t cut = 0; cut < len; cut++) {
    if (check(TYPE, (const char *)bytes, cut, NULL) < 0)
      continue;
    passed++;
    Csi__V1__CreateVolumeRequest *request =
        csi__v1__create_volume_request__unpack(NULL, cut, bytes);
    CU_ASSERT_PTR_NOT_NULL(request);
    csi__v1__create_volume_request__free_unpacked(request, NULL);
  }
  CHECK_NUMBER(passed, boundaries); /* one of them is the empty message */
}

/* Whatever passes and can be unpacked has only good strings. */
static void
test_any_changed_byte_leaves_only_good_strings(void)
{
  CLEANUP(freep) uint8_t *bytes = NULL;
  size_t boundaries;
  size_t len = pack_request(&bytes, &boundaries);
  for (size_t at = 0; at < len; at++) {
    uint8_t original = bytes[at];
    for (unsigned value = 0; value < 256; value++) {
      bytes[at] = (uint8_t)value;
      if (check(TYPE, (const char *)bytes, len, NULL) < 0)
        continue;
      Csi__V1__CreateVolumeRequest *request =
          csi__v1__create_volume_request__unpack(NULL, len, bytes);
      if (request && strlen(request->name) > len)
        CU_FAIL("a string is longer than its message");
      csi__v1__create_volume_request__free_unpacked(request, NULL);
    }
    bytes[at] = original;
  }
}

/* A message that holds itself: CSI has none, so one is made here. */
struct nested {
  ProtobufCMessage base;
  struct nested *inner;
};

static const ProtobufCMessageDescriptor nested_type;
static const ProtobufCFieldDescriptor nested_fields[] = {{.name = "inner",
                                                          .id = 1,
                                                          .label = PROTOBUF_C_LABEL_OPTIONAL,
                                                          .type = PROTOBUF_C_TYPE_MESSAGE,
                                                          .offset = offsetof(struct nested, inner),
                                                          .descriptor = &nested_type}};
static const unsigned nested_by_name[] = {0};
static const ProtobufCIntRange nested_ranges[] = {{1, 0}, {0, 1}};
static const ProtobufCMessageDescriptor nested_type = {.magic =
                                                           PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
                                                       .name = "Nested",
                                                       .short_name = "Nested",
                                                       .sizeof_message = sizeof(struct nested),
                                                       .n_fields = 1,
                                                       .fields = nested_fields,
                                                       .fields_sorted_by_name = nested_by_name,
                                                       .n_field_ranges = 1,
                                                       .field_ranges = nested_ranges};

/* `depth` messages, each in the one before. */
static size_t
nest(char *bytes, size_t room, unsigned depth)
{
  size_t at = room;
  for (unsigned i = 0; i < depth; i++) {
    size_t len = room - at;
    char length[4];
    size_t digits = 0;
    for (size_t left = len; digits == 0 || left > 0; left >>= 7)
      length[digits++] = (char)((left & 0x7f) | (left >> 7 ? 0x80 : 0));
    at -= digits;
    memcpy(bytes + at, length, digits);
    bytes[--at] = 0x0a;
  }
  memmove(bytes, bytes + at, room - at);
  return room - at;
}

static void
test_nesting_has_a_limit(void)
{
  enum { ROOM = 1 << 19 };
  CLEANUP(freep) char *bytes = xcalloc(1, ROOM);
  static const struct {
    unsigned depth;
    bool passes;
  } rows[] = {{0, true},   {1, true},    {5, true},      {16, true},
              {17, false}, {100, false}, {100000, false}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    size_t len = nest(bytes, ROOM, rows[i].depth);
    CHECK_NUMBER(check(&nested_type, bytes, len, &err), rows[i].passes ? 0 : -1);
    if (!rows[i].passes)
      CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "not a well-formed Nested message");
  }
}

/* Field 4 is the map of parameters, field 3 a list of capabilities. */
static void
test_maps_have_a_limit_and_lists_have_none(void)
{
  enum { ENTRY = 5, MAP_MAX = 1024, MANY = 100000 };
  CLEANUP(freep) char *bytes = xcalloc(MANY + 1, ENTRY);
  CLEANUP(error_freep) struct error *err = NULL;
  for (size_t i = 0; i <= MAP_MAX; i++)
    memcpy(bytes + i * ENTRY, "\x22\x03\x0a\x01k", ENTRY);
  CHECK_NUMBER(check(TYPE, bytes, (size_t)MAP_MAX * ENTRY, &err), 0);
  CHECK_NUMBER(check(TYPE, bytes, (size_t)(MAP_MAX + 1) * ENTRY, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "field 'parameters' has more than 1024 entries");
  for (size_t i = 0; i < MANY; i++)
    bytes[i * 2] = 0x1a, bytes[i * 2 + 1] = 0;
  CHECK_NUMBER(check(TYPE, bytes, (size_t)MANY * 2, &err), 0);
}

UNIT_MAIN("csi/rpc/message_check", UNIT_TEST(test_good_messages_pass),
          UNIT_TEST(test_bad_strings_are_refused_by_field), UNIT_TEST(test_unknown_fields_pass),
          UNIT_TEST(test_malformed_messages_are_refused),
          UNIT_TEST(test_a_cut_amid_a_field_is_refused),
          UNIT_TEST(test_any_changed_byte_leaves_only_good_strings),
          UNIT_TEST(test_nesting_has_a_limit),
          UNIT_TEST(test_maps_have_a_limit_and_lists_have_none))
