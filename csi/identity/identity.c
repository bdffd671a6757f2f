/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/identity/identity.h"

#include <csi.pb-c.h>

#include "csi/rpc/csi_method.h"
#include "lib/base/memory.h"

static int
get_plugin_info(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
                struct error **err)
{
  (void)request, (void)err;
  Csi__V1__GetPluginInfoResponse *info = (Csi__V1__GetPluginInfoResponse *)response;
  info->name = xstrdup(context);
  info->vendor_version = xstrdup(IMPRINT_VERSION);
  return 0;
}

static Csi__V1__PluginCapability *
service_capability(Csi__V1__PluginCapability__Service__Type type)
{
  Csi__V1__PluginCapability *capability = xcalloc(1, sizeof(*capability));
  csi__v1__plugin_capability__init(capability);
  capability->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
  capability->service = xcalloc(1, sizeof(*capability->service));
  csi__v1__plugin_capability__service__init(capability->service);
  capability->service->type = type;
  return capability;
}

static Csi__V1__PluginCapability *
expansion_capability(Csi__V1__PluginCapability__VolumeExpansion__Type type)
{
  Csi__V1__PluginCapability *capability = xcalloc(1, sizeof(*capability));
  csi__v1__plugin_capability__init(capability);
  capability->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_VOLUME_EXPANSION;
  capability->volume_expansion = xcalloc(1, sizeof(*capability->volume_expansion));
  csi__v1__plugin_capability__volume_expansion__init(capability->volume_expansion);
  capability->volume_expansion->type = type;
  return capability;
}

static int
get_plugin_capabilities(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
                        struct error **err)
{
  (void)context, (void)request, (void)err;
  Csi__V1__GetPluginCapabilitiesResponse *answer =
      (Csi__V1__GetPluginCapabilitiesResponse *)response;
  answer->n_capabilities = 2;
  answer->capabilities = xcalloc(answer->n_capabilities, sizeof(answer->capabilities[0]));
  answer->capabilities[0] =
      service_capability(CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE);
  answer->capabilities[1] =
      expansion_capability(CSI__V1__PLUGIN_CAPABILITY__VOLUME_EXPANSION__TYPE__ONLINE);
  return 0;
}

/* Ready as soon as it answers: a cluster out of reach is told by the calls that need it, and
 * killing us for it, as a failed probe would, helps nobody. */
static int
probe(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
      struct error **err)
{
  (void)context, (void)request, (void)err;
  Csi__V1__ProbeResponse *answer = (Csi__V1__ProbeResponse *)response;
  answer->ready = xcalloc(1, sizeof(*answer->ready));
  google__protobuf__bool_value__init(answer->ready);
  answer->ready->value = true;
  return 0;
}

static const struct rpc_method methods[] = {
    CSI_QUIET_METHOD("Identity", "GetPluginInfo", get_plugin_info, get_plugin_info),
    CSI_QUIET_METHOD("Identity", "GetPluginCapabilities", get_plugin_capabilities,
                     get_plugin_capabilities),
    CSI_QUIET_METHOD("Identity", "Probe", probe, probe),
};

struct rpc_service
identity_service(const char *driver_name)
{
  return (struct rpc_service){methods, sizeof(methods) / sizeof(methods[0]), (void *)driver_name};
}
