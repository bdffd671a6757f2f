/* SPDX-License-Identifier: Apache-2.0 */
/* A request as it comes off the socket; the first byte says of which type. What passes the check
 * and can be unpacked has only strings of valid UTF-8, and what the controller derives from a
 * request first can be derived from it. */
#include <string.h>

#include "csi/rpc/message_check.h"
#include "csi/volume/capability.h"
#include "csi/volume/capacity.h"
#include "csi/volume/image_name.h"
#include "csi/volume/parameters.h"
#include "csi/volume/proto_map.h"
#include "lib/base/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message_walk.h"
#include "tests/fuzz/requests.h"

static void
check_string(const ProtobufCMessage *message, const char *string, void *context)
{
  (void)message;
  (void)context;
  CHECK(!string || text_is_utf8(string, strlen(string)));
}

static void
derive(const Csi__V1__CreateVolumeRequest *request)
{
  free(image_name_of_volume(request->name));
  (void)capabilities_check(request->volume_capabilities, request->n_volume_capabilities, NULL);
  uint64_t bytes;
  if (capacity_choose(request->capacity_range, 0, &bytes, NULL) == 0)
    CHECK(bytes > 0 && capacity_check_existing(request->capacity_range, bytes, NULL) == 0);
  struct string_map given = {0};
  PROTO_MAP_READ(&given, request->parameters, request->n_parameters);
  struct volume_parameters parameters;
  if (volume_parameters_parse(&given, &parameters, NULL) == 0)
    volume_parameters_clear(&parameters);
  string_map_clear(&given);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  const ProtobufCMessageDescriptor *type = requests[data[0] % REQUESTS];
  CLEANUP(error_freep) struct error *err = NULL;
  if (message_check(type, data + 1, size - 1, &err) < 0) {
    CHECK(err && err->code == ERROR_INVALID_ARGUMENT && *err->message);
    return 0;
  }
  ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, size - 1, data + 1);
  if (!message)
    return 0;
  message_walk(message, check_string, NULL);
  if (type == &csi__v1__create_volume_request__descriptor)
    derive((const Csi__V1__CreateVolumeRequest *)message);
  protobuf_c_message_free_unpacked(message, NULL);
  return 0;
}
