/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_retry.h"

#include <limits.h>

#include "lib/base/clock.h"
#include "tests/unit/unit.h"

static const struct http_transfer transient = {.is_transient = true, .max_retries = UINT_MAX};

static bool
again(struct http_retry *retry, const struct http_transfer *failed, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  (void)error_set(&failure, ERROR_UNAVAILABLE, "the cause");
  return http_retry_again(retry, failed, &failure, err);
}

static void
test_pauses_double_up_to_ten_seconds(void)
{
  static const int64_t whole[] = {200, 400, 800, 1600, 3200, 6400, 10000, 10000};
  for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
    CHECK_NUMBER(http_retry_pause_ms(200, i + 1, 0), whole[i] / 2);
    CHECK_NUMBER(http_retry_pause_ms(200, i + 1, (uint32_t)(whole[i] / 2)), whole[i]);
    for (uint32_t random = 1; random != 0 && random < UINT_MAX / 3; random *= 3) {
      int64_t pause = http_retry_pause_ms(200, i + 1, random);
      CU_ASSERT(pause >= whole[i] / 2 && pause <= whole[i]);
    }
  }
  CHECK_NUMBER(http_retry_pause_ms(1, 1, 7), 1);
  CHECK_NUMBER(http_retry_pause_ms(UINT_MAX, UINT_MAX, 0), 5000);
}

static void
test_attempts_are_counted(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client =
      http_client_new(&(struct http_options){.retries = 2, .retry_first_ms = 1});
  CLEANUP(error_freep) struct error *err = NULL;
  struct http_retry retry = {.client = client};
  CU_ASSERT(http_retry_is_left(&retry));
  CU_ASSERT(again(&retry, &transient, &err));
  CU_ASSERT(again(&retry, &transient, &err));
  CU_ASSERT_FALSE(http_retry_is_left(&retry));
  CU_ASSERT_FALSE(again(&retry, &transient, &err));
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "given up after 3 attempts: the cause");
}

static void
test_what_will_not_pass_is_not_repeated(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){0});
  CLEANUP(error_freep) struct error *err = NULL;
  struct http_retry retry = {.client = client};
  const struct http_transfer final = {.max_retries = UINT_MAX};
  CU_ASSERT_FALSE(again(&retry, &final, &err));
  CHECK_STRING(err->message, "the cause");
}

static void
test_a_failure_may_set_a_lower_limit(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){.retry_first_ms = 1});
  CLEANUP(error_freep) struct error *err = NULL;
  struct http_retry retry = {.client = client};
  const struct http_transfer once = {.is_transient = true, .max_retries = 1};
  CU_ASSERT(again(&retry, &once, &err));
  CU_ASSERT_FALSE(again(&retry, &once, &err));
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "after 2 attempts");
}

static void
test_a_good_attempt_starts_the_count_anew(void)
{
  struct http_retry retry = {.failures = 5};
  http_retry_gained(&retry, 65535);
  CHECK_NUMBER(retry.failures, 5);
  http_retry_gained(&retry, 65536);
  CHECK_NUMBER(retry.failures, 0);
}

static void
test_retry_after_is_waited_for(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){.retry_first_ms = 1});
  struct http_retry retry = {.client = client};
  const struct http_transfer patient = {
      .is_transient = true, .max_retries = UINT_MAX, .retry_after_ms = 60};
  int64_t start = clock_now_ms();
  CU_ASSERT(again(&retry, &patient, NULL));
  CU_ASSERT(clock_now_ms() - start >= 59);
}

static void
test_a_cancelled_client_does_not_wait(void)
{
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&(struct http_options){.retry_first_ms = 10000});
  CLEANUP(error_freep) struct error *err = NULL;
  struct http_retry retry = {.client = client};
  http_client_cancel(client);
  int64_t start = clock_now_ms();
  CU_ASSERT_FALSE(again(&retry, &transient, &err));
  CU_ASSERT(clock_now_ms() - start < 4000);
  CHECK_ERROR(&err, ERROR_CANCELLED, "cancelled");
}

UNIT_MAIN("lib/http/http_retry", UNIT_TEST(test_pauses_double_up_to_ten_seconds),
          UNIT_TEST(test_attempts_are_counted), UNIT_TEST(test_what_will_not_pass_is_not_repeated),
          UNIT_TEST(test_a_failure_may_set_a_lower_limit),
          UNIT_TEST(test_a_good_attempt_starts_the_count_anew),
          UNIT_TEST(test_retry_after_is_waited_for),
          UNIT_TEST(test_a_cancelled_client_does_not_wait))
