/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/server.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "tests/unit/capture.h"
#include "tests/unit/csi/rpc/echo_service.h"
#include "tests/unit/unit.h"

static void
test_a_call_reaches_its_handler_and_the_answer_comes_back(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *id = NULL;
  CU_ASSERT_EQUAL(echo_probe(&echo, 30000, &err), 0);
  CU_ASSERT_EQUAL(echo_create(&echo, "pvc-\xe2\x82\xac", &id, &err), 0);
  CHECK_STRING(id, "pvc-\xe2\x82\xac");
  CHECK_NUMBER(echo.begun, 2);
  CHECK_NUMBER(rpc_server_served(echo.server), 2);
  echo_service_stop(&echo);
}

static void
test_a_bad_string_never_reaches_the_handler(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *id = NULL;
  CU_ASSERT_EQUAL(echo_create(&echo, "bad \xff", &id, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "CreateVolume: field 'name' is not valid UTF-8");
  CHECK_NUMBER(echo.begun, 0);
  echo_service_stop(&echo);
}

/* Field 1 of DeleteVolume is a string; here a number arrives. */
static void
test_a_message_of_another_form_never_reaches_the_handler(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  Csi__V1__ListVolumesRequest request = CSI__V1__LIST_VOLUMES_REQUEST__INIT;
  request.max_entries = 1;
  ProtobufCMessage *response = NULL;
  CU_ASSERT_EQUAL(rpc_client_call(echo.client, "/csi.v1.Controller/DeleteVolume", &request.base,
                                  &csi__v1__delete_volume_response__descriptor, 30000, &response,
                                  &err),
                  -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "not a well-formed DeleteVolumeRequest message");
  CHECK_NUMBER(echo.begun, 0);
  echo_service_stop(&echo);
}

static void
test_an_unknown_method_is_unimplemented(void)
{
  static const char *const paths[] = {"/csi.v1.Node/NodeGetInfo", "/csi.v1.Identity/Probed",
                                      "/csi.v1.Identity/Prob",    "/csi.v0.Identity/Probe",
                                      "/csi.v1.Identity/probe",   "/csi.v1.Identity/Probe/"};
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    Csi__V1__ProbeRequest request = CSI__V1__PROBE_REQUEST__INIT;
    ProtobufCMessage *response = NULL;
    CHECK_ROW(rpc_client_call(echo.client, paths[i], &request.base,
                              &csi__v1__probe_response__descriptor, 30000, &response, &err) == -1,
              paths[i]);
    CHECK_ERROR(&err, ERROR_UNIMPLEMENTED, "this driver does not serve that method");
  }
  CHECK_NUMBER(echo.begun, 0);
  echo_service_stop(&echo);
}

static char *
name_of_length(size_t len)
{
  char *name = xcalloc(len + 1, 1);
  memset(name, 'x', len);
  return name;
}

static void
test_a_message_above_1_mib_is_refused(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *id = NULL;
  CLEANUP(freep) char *large = name_of_length((1 << 20) - 16);
  CLEANUP(freep) char *too_large = name_of_length(1 << 20);
  CU_ASSERT_EQUAL(echo_create(&echo, too_large, &id, &err), -1);
  CHECK_ERROR(&err, ERROR_RESOURCE_EXHAUSTED, "larger than max");
  CU_ASSERT_EQUAL(echo_create(&echo, large, &id, &err), 0);
  CHECK_STRING(id, large);
  CHECK_NUMBER(echo.begun, 1);
  echo_service_stop(&echo);
}

/* Clients refuse an answer whose status takes more than 8 KiB, and with it what it says. */
static void
test_a_long_error_arrives_cut_between_characters(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *how = xcalloc(100000, 1);
  size_t len = (size_t)snprintf(how, 100000, "5 no volume ");
  while (len + 4 < 100000)
    len += (size_t)snprintf(how + len, 4, "\xe2\x82\xac");
  CU_ASSERT_EQUAL(echo_delete(&echo, how, &err), -1);
  REQUIRE(err);
  CHECK_NUMBER(err->code, ERROR_NOT_FOUND);
  CU_ASSERT_PTR_NOT_NULL(strstr(err->message, "no volume \xe2\x82\xac"));
  CU_ASSERT(strlen(err->message) > 2000 && strlen(err->message) < 2200);
  CU_ASSERT(text_is_utf8(err->message, strlen(err->message)));
  CU_ASSERT_PTR_NULL(strchr(err->message, '?'));
  echo_service_stop(&echo);
}

static char *
log_of_calls(struct echo_service *echo, enum log_level level)
{
  struct capture capture;
  log_set_level(level);
  capture_start(&capture);
  (void)echo_probe(echo, 30000, NULL);
  CLEANUP(freep) char *id = NULL;
  (void)echo_create(echo, "v1", &id, NULL);
  (void)echo_delete(echo, "10 busy", NULL);
  echo_wait_busy(echo, 0);
  log_set_level(LOG_LEVEL_INFO);
  return capture_stop(&capture);
}

static void
test_a_call_is_logged_once(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  CLEANUP(freep) char *log = log_of_calls(&echo, LOG_LEVEL_INFO);
  CU_ASSERT_PTR_NULL(strstr(log, "Probe")); /* it is quiet */
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "level=info request=2 msg=\"CreateVolume done in "));
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "level=warn request=3 msg=\"DeleteVolume failed after "));
  CU_ASSERT_PTR_NOT_NULL(strstr(log, " ms: ABORTED: busy\""));
  unsigned lines = 0;
  for (const char *at = log; (at = strchr(at, '\n')); at++)
    lines++;
  CHECK_NUMBER(lines, 2);
  CLEANUP(freep) char *debug = log_of_calls(&echo, LOG_LEVEL_DEBUG);
  CU_ASSERT_PTR_NOT_NULL(strstr(debug, "msg=\"Probe done in "));
  /* What a handler logs belongs to its call. */
  CU_ASSERT_PTR_NOT_NULL(strstr(debug, "request=5 msg=\"creating 'v1'\""));
  echo_service_stop(&echo);
}

static void
test_secrets_never_reach_the_log(void)
{
  struct echo_service echo;
  echo_service_start(&echo, 2, 10);
  Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
  Csi__V1__CreateVolumeRequest__SecretsEntry entry =
      CSI__V1__CREATE_VOLUME_REQUEST__SECRETS_ENTRY__INIT;
  Csi__V1__CreateVolumeRequest__SecretsEntry *entries[] = {&entry};
  entry.key = (char *)"userKey";
  request.secrets = entries;
  request.n_secrets = 1;
  struct capture capture;
  log_set_level(LOG_LEVEL_DEBUG);
  capture_start(&capture);
  for (int is_bad = 0; is_bad < 2; is_bad++) {
    entry.value = (char *)(is_bad ? "hunter2\xff" : "hunter2");
    ProtobufCMessage *response = NULL;
    int r = rpc_client_call(echo.client, "/csi.v1.Controller/CreateVolume", &request.base,
                            &csi__v1__create_volume_response__descriptor, 30000, &response, NULL);
    CU_ASSERT_EQUAL(r, is_bad ? -1 : 0);
    protobuf_c_message_free_unpacked(response, NULL);
  }
  echo_wait_busy(&echo, 0);
  CLEANUP(freep) char *log = capture_stop(&capture);
  log_set_level(LOG_LEVEL_INFO);
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "CreateVolume"));
  CU_ASSERT_PTR_NULL(strstr(log, "hunter2"));
  echo_service_stop(&echo);
}

static void
test_the_bare_name_of_a_method(void)
{
  const struct rpc_method method = {.path = "/csi.v1.Controller/CreateVolume"};
  CHECK_STRING(rpc_method_name(&method), "CreateVolume");
}

UNIT_MAIN("csi/rpc/server", UNIT_TEST(test_a_call_reaches_its_handler_and_the_answer_comes_back),
          UNIT_TEST(test_a_bad_string_never_reaches_the_handler),
          UNIT_TEST(test_a_message_of_another_form_never_reaches_the_handler),
          UNIT_TEST(test_an_unknown_method_is_unimplemented),
          UNIT_TEST(test_a_message_above_1_mib_is_refused),
          UNIT_TEST(test_a_long_error_arrives_cut_between_characters),
          UNIT_TEST(test_a_call_is_logged_once), UNIT_TEST(test_secrets_never_reach_the_log),
          UNIT_TEST(test_the_bare_name_of_a_method))
