/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/registration.h"

#include <pluginregistration.pb-c.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"

#define STOP_MS 2000
#define ANSWER_MS 10000

static int
get_info(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
         struct error **err)
{
  (void)request, (void)err;
  const struct registration *registration = context;
  Pluginregistration__PluginInfo *info = (Pluginregistration__PluginInfo *)response;
  info->type = xstrdup("CSIPlugin");
  info->name = xstrdup(registration->driver_name);
  info->endpoint = xstrdup(registration->csi_socket);
  info->n_supported_versions = 1;
  info->supported_versions = xcalloc(1, sizeof(char *));
  info->supported_versions[0] = xstrdup("1.0.0"); /* kubelet's word for CSI v1 */
  return 0;
}

static int
notify_status(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
              struct error **err)
{
  (void)response, (void)err;
  struct registration *registration = context;
  const Pluginregistration__RegistrationStatus *status =
      (const Pluginregistration__RegistrationStatus *)request;
  if (status->plugin_registered) {
    log_info("kubelet has registered %s", registration->driver_name);
  } else {
    log_error("kubelet refuses %s: %s", registration->driver_name, status->error);
    atomic_store(&registration->was_refused, true);
  }
  return 0;
}

static const struct rpc_method methods[] = {
    {.path = "/pluginregistration.Registration/GetInfo",
     .request = &pluginregistration__info_request__descriptor,
     .response = &pluginregistration__plugin_info__descriptor,
     .handle = get_info,
     .is_quiet = true},
    {.path = "/pluginregistration.Registration/NotifyRegistrationStatus",
     .request = &pluginregistration__registration_status__descriptor,
     .response = &pluginregistration__registration_status_response__descriptor,
     .handle = notify_status,
     .is_quiet = true},
};

int
registration_start(struct registration *registration, const char *dir, const char *driver_name,
                   const char *csi_socket, struct error **err)
{
  CLEANUP(freep) char *endpoint = xasprintf("unix://%s/%s-reg.sock", dir, driver_name);
  registration->driver_name = driver_name;
  registration->csi_socket = csi_socket;
  registration->service =
      (struct rpc_service){methods, sizeof(methods) / sizeof(methods[0]), registration};
  struct rpc_server_options options = {
      .endpoint = endpoint,
      .services = &registration->service,
      .service_count = 1,
      .max_workers = 2,
      .max_waiting = 16,
      .default_timeout_ms = ANSWER_MS,
  };
  return rpc_server_start(&options, &registration->server, err);
}

void
registration_stop(struct registration *registration)
{
  if (registration->server)
    (void)rpc_server_stop(registration->server, STOP_MS);
  registration->server = NULL;
}
