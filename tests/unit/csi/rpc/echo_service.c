/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/csi/rpc/echo_service.h"

#include <string.h>
#include <time.h>

#include "csi/volume/proto_map.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

#define CALL_TIMEOUT_MS 30000

typedef Csi__V1__Volume__VolumeContextEntry context_entry;

static int
handle_probe(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
             struct error **err)
{
  (void)request;
  (void)response;
  (void)err;
  atomic_fetch_add(&((struct echo_service *)context)->begun, 1);
  return 0;
}

static int
handle_create(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
              struct error **err)
{
  (void)err;
  const Csi__V1__CreateVolumeRequest *request = (const Csi__V1__CreateVolumeRequest *)message;
  atomic_fetch_add(&((struct echo_service *)context)->begun, 1);
  log_debug("creating '%.64s'", request->name);
  Csi__V1__Volume *volume = xcalloc(1, sizeof(*volume));
  csi__v1__volume__init(volume);
  volume->volume_id = xstrdup(request->name);
  struct string_map map = {0};
  PROTO_MAP_READ(&map, request->parameters, request->n_parameters);
  PROTO_MAP_WRITE(&map, volume->volume_context, volume->n_volume_context, context_entry,
                  CSI__V1__VOLUME__VOLUME_CONTEXT_ENTRY__INIT);
  string_map_clear(&map);
  ((Csi__V1__CreateVolumeResponse *)response)->volume = volume;
  return 0;
}

static int
handle_delete(void *context, const ProtobufCMessage *message, ProtobufCMessage *response,
              struct error **err)
{
  (void)response;
  const char *how = ((const Csi__V1__DeleteVolumeRequest *)message)->volume_id;
  atomic_fetch_add(&((struct echo_service *)context)->begun, 1);
  char *text = NULL;
  long code = strtol(how, &text, 10);
  return error_set(err, (enum error_code)code, "%s", *text ? text + 1 : text);
}

static int
handle_get(void *context, const ProtobufCMessage *request, ProtobufCMessage *response,
           struct error **err)
{
  (void)request;
  (void)response;
  (void)err;
  struct echo_service *echo = context;
  atomic_fetch_add(&echo->begun, 1);
  gate_enter(&echo->gate);
  return 0;
}

static const struct rpc_method identity_methods[] = {
    {"/csi.v1.Identity/Probe", &csi__v1__probe_request__descriptor,
     &csi__v1__probe_response__descriptor, handle_probe, true},
};

static const struct rpc_method controller_methods[] = {
    {"/csi.v1.Controller/CreateVolume", &csi__v1__create_volume_request__descriptor,
     &csi__v1__create_volume_response__descriptor, handle_create, false},
    {"/csi.v1.Controller/DeleteVolume", &csi__v1__delete_volume_request__descriptor,
     &csi__v1__delete_volume_response__descriptor, handle_delete, false},
    {"/csi.v1.Controller/ControllerGetVolume", &csi__v1__controller_get_volume_request__descriptor,
     &csi__v1__controller_get_volume_response__descriptor, handle_get, false},
};

void
echo_service_listen(struct echo_service *echo, size_t max_workers, size_t max_waiting,
                    int64_t default_timeout_ms)
{
  CLEANUP(error_freep) struct error *err = NULL;
  const struct rpc_server_options options = {.endpoint = echo->endpoint,
                                             .services = echo->services,
                                             .service_count = 2,
                                             .max_workers = max_workers,
                                             .max_waiting = max_waiting,
                                             .default_timeout_ms = default_timeout_ms};
  REQUIRE(rpc_server_start(&options, &echo->server, &err) == 0);
}

void
echo_service_start(struct echo_service *echo, size_t max_workers, size_t max_waiting)
{
  *echo = (struct echo_service){
      .dir = temp_dir_make(),
      .services = {{.methods = identity_methods, .count = 1, .context = echo},
                   {.methods = controller_methods, .count = 3, .context = echo}}};
  echo->endpoint = xasprintf("unix://%s/csi.sock", echo->dir);
  gate_init(&echo->gate);
  echo_service_listen(echo, max_workers, max_waiting, CALL_TIMEOUT_MS);
  echo->client = rpc_client_open(echo->endpoint);
}

void
echo_service_stop(struct echo_service *echo)
{
  gate_open(&echo->gate);
  if (echo->server)
    REQUIRE(rpc_server_stop(echo->server, CALL_TIMEOUT_MS));
  rpc_client_close(echo->client);
  gate_clear(&echo->gate);
  free(echo->endpoint);
  temp_dir_remove(echo->dir);
}

int
echo_probe(struct echo_service *echo, int64_t timeout_ms, struct error **err)
{
  Csi__V1__ProbeRequest request = CSI__V1__PROBE_REQUEST__INIT;
  ProtobufCMessage *response = NULL;
  int r = rpc_client_call(echo->client, "/csi.v1.Identity/Probe", &request.base,
                          &csi__v1__probe_response__descriptor, timeout_ms, &response, err);
  if (r == 0)
    protobuf_c_message_free_unpacked(response, NULL);
  return r;
}

int
echo_create(struct echo_service *echo, const char *name, char **ret_id, struct error **err)
{
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  request.name = (char *)name;
  ProtobufCMessage *message = NULL;
  if (rpc_client_call(echo->client, "/csi.v1.Controller/CreateVolume", &request.base,
                      &csi__v1__create_volume_response__descriptor, CALL_TIMEOUT_MS, &message,
                      err) < 0)
    return -1;
  const Csi__V1__CreateVolumeResponse *response = (const Csi__V1__CreateVolumeResponse *)message;
  *ret_id = xstrdup(response->volume ? response->volume->volume_id : NULL);
  protobuf_c_message_free_unpacked(message, NULL);
  return 0;
}

int
echo_delete(struct echo_service *echo, const char *how, struct error **err)
{
  Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
  request.volume_id = (char *)how;
  ProtobufCMessage *response = NULL;
  int r = rpc_client_call(echo->client, "/csi.v1.Controller/DeleteVolume", &request.base,
                          &csi__v1__delete_volume_response__descriptor, CALL_TIMEOUT_MS, &response,
                          err);
  if (r == 0)
    protobuf_c_message_free_unpacked(response, NULL);
  return r;
}

int
echo_wait_at_gate(struct echo_service *echo, int64_t timeout_ms, struct error **err)
{
  Csi__V1__ControllerGetVolumeRequest request = CSI__V1__CONTROLLER_GET_VOLUME_REQUEST__INIT;
  ProtobufCMessage *response = NULL;
  int r = rpc_client_call(echo->client, "/csi.v1.Controller/ControllerGetVolume", &request.base,
                          &csi__v1__controller_get_volume_response__descriptor, timeout_ms,
                          &response, err);
  if (r == 0)
    protobuf_c_message_free_unpacked(response, NULL);
  return r;
}

static void *
wait_at_gate(void *arg)
{
  struct echo_waiter *waiter = arg;
  int64_t before_ms = clock_now_ms();
  waiter->result = echo_wait_at_gate(waiter->echo, waiter->timeout_ms, &waiter->err);
  waiter->took_ms = clock_now_ms() - before_ms;
  return NULL;
}

void
echo_waiter_start(struct echo_waiter *waiter, struct echo_service *echo, int64_t timeout_ms)
{
  *waiter = (struct echo_waiter){.echo = echo, .timeout_ms = timeout_ms};
  REQUIRE(pthread_create(&waiter->thread, NULL, wait_at_gate, waiter) == 0);
}

void
echo_waiter_join(struct echo_waiter *waiter)
{
  (void)pthread_join(waiter->thread, NULL);
}

static void
pause_briefly(void)
{
  struct timespec pause = {.tv_nsec = 1000000};
  (void)nanosleep(&pause, NULL);
}

void
echo_wait_busy(struct echo_service *echo, size_t count)
{
  while (rpc_server_busy(echo->server) != count)
    pause_briefly();
}

void
echo_wait_served(struct echo_service *echo, uint64_t count)
{
  while (rpc_server_served(echo->server) < count)
    pause_briefly();
}
