/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/proto_map.h"

#include <csi.pb-c.h>

#include "tests/unit/unit.h"

typedef Csi__V1__Volume__VolumeContextEntry context_entry;

static void
test_a_map_goes_into_a_message_and_comes_back(void)
{
  struct string_map map = {0}, back = {0};
  string_map_set(&map, "b", "2");
  string_map_set(&map, "a", "1");
  string_map_set(&map, "empty", "");
  Csi__V1__Volume volume = CSI__V1__VOLUME__INIT;
  PROTO_MAP_WRITE(&map, volume.volume_context, volume.n_volume_context, context_entry,
                  CSI__V1__VOLUME__VOLUME_CONTEXT_ENTRY__INIT);
  CLEANUP(freep) uint8_t *packed = xcalloc(1, csi__v1__volume__get_packed_size(&volume));
  size_t len = csi__v1__volume__pack(&volume, packed);
  Csi__V1__Volume *unpacked = csi__v1__volume__unpack(NULL, len, packed);
  REQUIRE(unpacked);
  PROTO_MAP_READ(&back, unpacked->volume_context, unpacked->n_volume_context);
  CHECK_NUMBER(back.count, 3);
  CHECK_STRING(string_map_get(&back, "a"), "1");
  CHECK_STRING(string_map_get(&back, "b"), "2");
  CHECK_STRING(string_map_get(&back, "empty"), "");
  csi__v1__volume__free_unpacked(unpacked, NULL);
  for (size_t i = 0; i < volume.n_volume_context; i++)
    protobuf_c_message_free_unpacked(&volume.volume_context[i]->base, NULL);
  free(volume.volume_context);
  string_map_clear(&map);
  string_map_clear(&back);
}

static void
test_an_empty_map_is_an_empty_field(void)
{
  struct string_map map = {0};
  Csi__V1__Volume volume = CSI__V1__VOLUME__INIT;
  PROTO_MAP_WRITE(&map, volume.volume_context, volume.n_volume_context, context_entry,
                  CSI__V1__VOLUME__VOLUME_CONTEXT_ENTRY__INIT);
  CHECK_NUMBER(volume.n_volume_context, 0);
  CU_ASSERT_PTR_NULL(volume.volume_context);
  PROTO_MAP_READ(&map, volume.volume_context, volume.n_volume_context);
  CHECK_NUMBER(map.count, 0);
}

UNIT_MAIN("csi/volume/proto_map", UNIT_TEST(test_a_map_goes_into_a_message_and_comes_back),
          UNIT_TEST(test_an_empty_map_is_an_empty_field))
