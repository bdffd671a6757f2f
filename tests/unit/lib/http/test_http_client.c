/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_client.h"

#include "lib/base/clock.h"
#include "lib/http/http_client_parts.h"
#include "lib/http/http_send.h"
#include "tests/unit/unit.h"

static void
test_what_is_not_said_has_a_default(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){0});
  CHECK_NUMBER(client->options.retries, 8);
  CHECK_NUMBER(client->options.retry_first_ms, 200);
  CHECK_NUMBER(client->options.stall_s, 30);
  CLEANUP(http_client_freep)
  struct http_client *other =
      http_client_new(&(struct http_options){.retries = 1, .retry_first_ms = 2, .stall_s = 3});
  CHECK_NUMBER(other->options.retries, 1);
  CHECK_NUMBER(other->options.retry_first_ms, 2);
  CHECK_NUMBER(other->options.stall_s, 3);
}

static void
test_a_bad_bundle_fails_every_request(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client =
      http_client_new(&(struct http_options){.ca_bundle = "/nowhere/ca.pem"});
  const struct http_request request = {.url = "http://example.invalid/"};
  struct http_response response = {0};
  for (int i = 0; i < 2; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_NUMBER(http_send(client, &request, &response, &err), -1);
    CHECK_ERROR(&err, ERROR_NOT_FOUND, "CA bundle '/nowhere/ca.pem'");
  }
}

static void
test_a_cancelled_client_asks_nobody(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){0});
  http_client_cancel(client);
  const struct http_request request = {.url = "http://example.invalid/"};
  struct http_response response = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(http_send(client, &request, &response, &err), -1);
  CHECK_ERROR(&err, ERROR_CANCELLED, "cancelled");
}

static void
test_sleeping_takes_its_time(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){0});
  int64_t start = clock_now_ms();
  CU_ASSERT(http_client_sleep(client, 30));
  CU_ASSERT(clock_now_ms() - start >= 29);
  http_client_cancel(client);
  CU_ASSERT_FALSE(http_client_sleep(client, 60000));
}

static void
test_a_malformed_url_is_told_without_it(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){0});
  const struct http_request request = {.url = "http://user:geheim@"};
  struct http_response response = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(http_send(client, &request, &response, &err), -1);
  REQUIRE(err != NULL);
  CU_ASSERT_PTR_NULL(strstr(err->message, "geheim"));
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "the URL cannot be read");
}

static void
test_freeing_nothing_is_fine(void)
{
  http_client_free(NULL);
}

UNIT_MAIN("lib/http/http_client", UNIT_TEST(test_what_is_not_said_has_a_default),
          UNIT_TEST(test_a_bad_bundle_fails_every_request),
          UNIT_TEST(test_a_cancelled_client_asks_nobody), UNIT_TEST(test_sleeping_takes_its_time),
          UNIT_TEST(test_a_malformed_url_is_told_without_it),
          UNIT_TEST(test_freeing_nothing_is_fine))
