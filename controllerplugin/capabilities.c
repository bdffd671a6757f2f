/* SPDX-License-Identifier: Apache-2.0 */
/* ControllerGetCapabilities. */
#include "controllerplugin/controller.h"
#include "lib/base/memory.h"

#define RPC(name) CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__##name

static const Csi__V1__ControllerServiceCapability__RPC__Type served[] = {
    RPC(CREATE_DELETE_VOLUME),
    RPC(PUBLISH_UNPUBLISH_VOLUME),
    RPC(PUBLISH_READONLY),
    RPC(LIST_VOLUMES),
    RPC(LIST_VOLUMES_PUBLISHED_NODES),
    RPC(GET_CAPACITY),
    RPC(GET_VOLUME),
    RPC(CREATE_DELETE_SNAPSHOT),
    RPC(LIST_SNAPSHOTS),
    RPC(GET_SNAPSHOT),
    RPC(CLONE_VOLUME),
    RPC(EXPAND_VOLUME),
    RPC(MODIFY_VOLUME),
    RPC(SINGLE_NODE_MULTI_WRITER),
};

#define SERVED (sizeof(served) / sizeof(served[0]))

int
controller_get_capabilities(void *context, const ProtobufCMessage *request,
                            ProtobufCMessage *response, struct error **err)
{
  (void)context, (void)request, (void)err;
  Csi__V1__ControllerGetCapabilitiesResponse *answer =
      (Csi__V1__ControllerGetCapabilitiesResponse *)response;
  answer->n_capabilities = SERVED;
  answer->capabilities = xcalloc(SERVED, sizeof(answer->capabilities[0]));
  for (size_t i = 0; i < SERVED; i++) {
    Csi__V1__ControllerServiceCapability *capability = xcalloc(1, sizeof(*capability));
    csi__v1__controller_service_capability__init(capability);
    capability->type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
    capability->rpc = xcalloc(1, sizeof(*capability->rpc));
    csi__v1__controller_service_capability__rpc__init(capability->rpc);
    capability->rpc->type = served[i];
    answer->capabilities[i] = capability;
  }
  return 0;
}
