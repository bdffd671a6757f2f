/* SPDX-License-Identifier: Apache-2.0 */
/* GetPluginInfo, GetPluginCapabilities, Probe. */
#include "lib/base/memory.h"
#include "nodeplugin/node.h"

int
identity_get_plugin_info(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
                         struct error **err)
{
  (void)request, (void)err;
  const struct node *node = context;
  Csi__V1__GetPluginInfoResponse *info = (Csi__V1__GetPluginInfoResponse *)response;
  info->name = xstrdup(node->driver_name);
  info->vendor_version = xstrdup(IMPRINT_VERSION);
  return 0;
}

/* Those of the driver, not of this program: CSI wants all instances to say the same, whatever part
 * of it they serve. */
int
identity_get_plugin_capabilities(void *context, const ProtobufCMessage *request,
                                 ProtobufCMessage *response, struct error **err)
{
  (void)context, (void)request, (void)err;
  Csi__V1__GetPluginCapabilitiesResponse *answer =
      (Csi__V1__GetPluginCapabilitiesResponse *)response;
  Csi__V1__PluginCapability *service = xcalloc(1, sizeof(*service));
  csi__v1__plugin_capability__init(service);
  service->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
  service->service = xcalloc(1, sizeof(*service->service));
  csi__v1__plugin_capability__service__init(service->service);
  service->service->type = CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE;
  Csi__V1__PluginCapability *expansion = xcalloc(1, sizeof(*expansion));
  csi__v1__plugin_capability__init(expansion);
  expansion->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_VOLUME_EXPANSION;
  expansion->volume_expansion = xcalloc(1, sizeof(*expansion->volume_expansion));
  csi__v1__plugin_capability__volume_expansion__init(expansion->volume_expansion);
  expansion->volume_expansion->type = CSI__V1__PLUGIN_CAPABILITY__VOLUME_EXPANSION__TYPE__ONLINE;
  answer->n_capabilities = 2;
  answer->capabilities = xcalloc(2, sizeof(answer->capabilities[0]));
  answer->capabilities[0] = service;
  answer->capabilities[1] = expansion;
  return 0;
}

/* Ready as soon as it answers: a cluster out of reach is told by the calls that need it. */
int
identity_probe(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
               struct error **err)
{
  (void)context, (void)request, (void)err;
  Csi__V1__ProbeResponse *answer = (Csi__V1__ProbeResponse *)response;
  answer->ready = xcalloc(1, sizeof(*answer->ready));
  google__protobuf__bool_value__init(answer->ready);
  answer->ready->value = true;
  return 0;
}
