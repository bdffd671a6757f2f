/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/client.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/unit/csi/rpc/echo_service.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static void
test_every_code_arrives_with_its_message(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  for (int code = ERROR_CANCELLED; code <= ERROR_UNAUTHENTICATED; code++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *how = xasprintf("%d the reason %d", code, code);
    CLEANUP(freep) char *expected = xasprintf("DeleteVolume: the reason %d", code);
    CU_ASSERT_EQUAL(echo_delete(&echo, how, &err), -1);
    REQUIRE(err);
    CHECK_STRING(err->message, expected);
    CHECK_ERROR(&err, (enum error_code)code, expected);
  }
  echo_service_stop(&echo);
}

static void
test_any_text_arrives_on_one_line(void)
{
  char longer[2001];
  memset(longer, 'x', sizeof(longer) - 1);
  longer[sizeof(longer) - 1] = '\0';
  const char *const texts[] = {"",
                               " two  spaces ",
                               "100% of 'it' \"is\" here",
                               "%41%zz",
                               "lines\nand\ttabs\r\n",
                               "gr\xc3\xbc\xc3\x9f \xf0\x9f\x92\xbe",
                               "\x01\x1f\x7f",
                               longer};
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CLEANUP(freep) char *how = xasprintf("%d %s", ERROR_INTERNAL, texts[i]);
    CLEANUP(freep) char *expected = xasprintf("DeleteVolume: %s", texts[i]);
    text_make_line(expected);
    CU_ASSERT_EQUAL(echo_delete(&echo, how, &err), -1);
    REQUIRE(err);
    CHECK_STRING(err->message, expected);
  }
  echo_service_stop(&echo);
}

static void
test_maps_arrive_whole(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  Csi__V1__CreateVolumeRequest__ParametersEntry one =
      CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT;
  Csi__V1__CreateVolumeRequest__ParametersEntry two = one;
  Csi__V1__CreateVolumeRequest__ParametersEntry *entries[] = {&one, &two};
  one.key = (char *)"pool";
  one.value = (char *)"vms";
  two.key = (char *)"clusterID";
  two.value = (char *)"";
  request.parameters = entries;
  request.n_parameters = 2;
  ProtobufCMessage *message = NULL;
  REQUIRE(rpc_client_call(echo.client, "/csi.v1.Controller/CreateVolume", &request.base,
                          &csi__v1__create_volume_response__descriptor, 30000, &message,
                          NULL) == 0);
  const Csi__V1__CreateVolumeResponse *response = (const Csi__V1__CreateVolumeResponse *)message;
  REQUIRE(response->volume && response->volume->n_volume_context == 2);
  CHECK_STRING(response->volume->volume_context[0]->key, "clusterID");
  CHECK_STRING(response->volume->volume_context[0]->value, "");
  CHECK_STRING(response->volume->volume_context[1]->key, "pool");
  CHECK_STRING(response->volume->volume_context[1]->value, "vms");
  protobuf_c_message_free_unpacked(message, NULL);
  echo_service_stop(&echo);
}

/* A volume comes back; whoever expects a number in its place is told, and does not crash. */
static void
test_an_answer_of_another_form_is_an_error(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  request.name = (char *)"v1";
  ProtobufCMessage *message = NULL;
  CU_ASSERT_EQUAL(rpc_client_call(echo.client, "/csi.v1.Controller/CreateVolume", &request.base,
                                  &csi__v1__get_capacity_response__descriptor, 30000, &message,
                                  &err),
                  -1);
  CHECK_ERROR(&err, ERROR_INTERNAL,
              "CreateVolume: the answer is not a well-formed GetCapacityResponse");
  CU_ASSERT_PTR_NULL(message);
  echo_service_stop(&echo);
}

static void
test_without_a_server_the_deadline_ends_the_wait(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *endpoint = xasprintf("unix://%s/csi.sock", dir);
  CLEANUP(rpc_client_closep) struct rpc_client *client = rpc_client_open(endpoint);
  Csi__V1__ProbeRequest request = CSI__V1__PROBE_REQUEST__INIT;
  ProtobufCMessage *response = NULL;
  int64_t before_ms = clock_now_ms();
  CU_ASSERT_EQUAL(rpc_client_call(client, "/csi.v1.Identity/Probe", &request.base,
                                  &csi__v1__probe_response__descriptor, 300, &response, &err),
                  -1);
  int64_t took_ms = clock_now_ms() - before_ms;
  CHECK_ERROR(&err, ERROR_DEADLINE_EXCEEDED, "Probe: ");
  CU_ASSERT(took_ms >= 290 && took_ms < 10000);
}

static void
test_a_server_that_starts_later_is_found(void)
{
  struct echo_service echo;
  struct echo_waiter waiter;
  echo_service_start(&echo, 2, 10);
  CU_ASSERT(rpc_server_stop(TAKE(echo.server), 1000));
  gate_open(&echo.gate);
  echo_waiter_start(&waiter, &echo, 30000);
  struct timespec pause = {.tv_nsec = 100000000};
  (void)nanosleep(&pause, NULL); /* the first attempt to connect fails */
  echo_service_listen(&echo, 2, 10, 30000);
  echo_waiter_join(&waiter);
  CHECK_NUMBER(waiter.result, 0);
  error_free(waiter.err);
  echo_service_stop(&echo);
}

static void
test_several_clients_share_a_server(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  for (int i = 0; i < 5; i++) {
    rpc_client_close(echo.client);
    echo.client = rpc_client_open(echo.endpoint);
    CU_ASSERT_EQUAL(echo_probe(&echo, 30000, NULL), 0);
  }
  CHECK_NUMBER(echo.begun, 5);
  rpc_client_close(NULL);
  echo_service_stop(&echo);
}

UNIT_MAIN("csi/rpc/client", UNIT_TEST(test_every_code_arrives_with_its_message),
          UNIT_TEST(test_any_text_arrives_on_one_line), UNIT_TEST(test_maps_arrive_whole),
          UNIT_TEST(test_an_answer_of_another_form_is_an_error),
          UNIT_TEST(test_without_a_server_the_deadline_ends_the_wait),
          UNIT_TEST(test_a_server_that_starts_later_is_found),
          UNIT_TEST(test_several_clients_share_a_server))
