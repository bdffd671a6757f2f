/* SPDX-License-Identifier: Apache-2.0 */
/* ValidateVolumeCapabilities. */
#include <string.h>

#include "controllerplugin/controller.h"
#include "controllerplugin/volume.h"
#include "csi/volume/capability.h"
#include "csi/volume/proto_map.h"
#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

typedef Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed confirmed_message;

/* A deep copy, by way of the wire. */
static Csi__V1__VolumeCapability *
copy_capability(const Csi__V1__VolumeCapability *capability)
{
  size_t len = csi__v1__volume_capability__get_packed_size(capability);
  CLEANUP(freep) uint8_t *packed = xcalloc(len + 1, 1);
  (void)csi__v1__volume_capability__pack(capability, packed);
  return csi__v1__volume_capability__unpack(NULL, len, packed);
}

static confirmed_message *
confirm(const Csi__V1__ValidateVolumeCapabilitiesRequest *request)
{
  confirmed_message *confirmed = xcalloc(1, sizeof(*confirmed));
  csi__v1__validate_volume_capabilities_response__confirmed__init(confirmed);
  confirmed->n_volume_capabilities = request->n_volume_capabilities;
  confirmed->volume_capabilities =
      xcalloc(request->n_volume_capabilities, sizeof(confirmed->volume_capabilities[0]));
  for (size_t i = 0; i < request->n_volume_capabilities; i++)
    confirmed->volume_capabilities[i] = copy_capability(request->volume_capabilities[i]);
  return confirmed;
}

/* Why the volume is not what the request believes it to be, to be freed; NULL when it is. */
static char *
find_objection(const struct volume *volume,
               const Csi__V1__ValidateVolumeCapabilitiesRequest *request)
{
  CLEANUP(error_freep) struct error *err = NULL;
  if (capabilities_check(request->volume_capabilities, request->n_volume_capabilities, &err) < 0)
    return xstrdup(err->message);
  struct string_map actual = {0};
  char *objection = NULL;
  record_volume_context(&volume->header.metadata, &actual);
  for (size_t i = 0; i < request->n_volume_context && !objection; i++) {
    const char *value = string_map_get(&actual, request->volume_context[i]->key);
    if (!value || strcmp(value, request->volume_context[i]->value) != 0)
      objection = xasprintf("volume_context: '%.64s' is not what the volume was made with",
                            request->volume_context[i]->key);
  }
  string_map_clear(&actual);
  if (objection)
    text_make_line(objection); /* the key was cut */
  return objection;
}

int
controller_validate_volume(void *context, const ProtobufCMessage *message,
                           ProtobufCMessage *response, struct error **err)
{
  const Csi__V1__ValidateVolumeCapabilitiesRequest *request =
      (const Csi__V1__ValidateVolumeCapabilitiesRequest *)message;
  Csi__V1__ValidateVolumeCapabilitiesResponse *answer =
      (Csi__V1__ValidateVolumeCapabilitiesResponse *)response;
  struct volume volume;
  if (!*request->volume_id)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_id is needed");
  if (request->n_volume_capabilities == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "volume_capabilities is needed");
  if (volume_find(context, "volume_id", request->volume_id, &volume, err) < 0)
    return -1;
  char *objection = find_objection(&volume, request);
  volume_clear(&volume);
  if (objection)
    answer->message = objection;
  else
    answer->confirmed = confirm(request);
  return 0;
}
