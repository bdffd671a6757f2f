/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/retry.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_time.h"
#include "tests/unit/unit.h"

/* An object of generation 3 with that status and that annotation, which may be NULL. */
static struct kube_object *
object_with(struct json_object *status, const char *annotation)
{
  struct json_object *json = json_object_new_object();
  json_put_text(json, "image", "metadata", "name");
  json_put_at(json, json_object_new_int64(3), "metadata", "generation");
  if (annotation)
    json_put_text(json, annotation, "metadata", "annotations",
                  "imprint.hypercloud.tmaxanc.com/retry");
  json_put_at(json, json_object_get(status), "status");
  struct kube_object *object = kube_object_new(json);
  CU_ASSERT_PTR_NOT_NULL_FATAL(object);
  return object;
}

/* The status behind so many failures of an object with that annotation. */
static struct json_object *
failed_status(int64_t failures, const char *annotation, int64_t generation)
{
  CLEANUP(json_object_putp) struct json_object *empty = json_object_new_object();
  CLEANUP(kube_object_releasep) struct kube_object *object = object_with(empty, annotation);
  struct json_object *status = json_object_new_object();
  CLEANUP(freep) char *text = retry_put(object, failures, "HTTP 503", status);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "HTTP 503"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, json_text(status, "retryAt")));
  json_put_at(status, json_object_new_int64(generation), "observedGeneration");
  return status;
}

static int64_t
wait_of(struct json_object *status, const char *annotation)
{
  CLEANUP(kube_object_releasep) struct kube_object *object = object_with(status, annotation);
  return retry_wait_ms(object);
}

static void
test_pauses_double_up_to_a_limit(void)
{
  static const struct {
    int64_t failures;
    int64_t pause_s;
  } rows[] = {{1, 2}, {2, 4}, {5, 32}, {8, 256}, {9, 256}, {1000, 256}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(json_object_putp)
    struct json_object *status = failed_status(rows[i].failures, NULL, 3);
    int64_t wait_ms = wait_of(status, NULL);
    CHECK_ROW(wait_ms > rows[i].pause_s * 1000 - 1500 && wait_ms <= rows[i].pause_s * 1000,
              "the pause");
  }
}

static void
test_a_changed_spec_does_not_wait(void)
{
  CLEANUP(json_object_putp) struct json_object *status = failed_status(5, NULL, 2);
  CU_ASSERT_EQUAL(wait_of(status, NULL), 0);
}

static void
test_a_new_request_does_not_wait_and_an_old_one_does(void)
{
  CLEANUP(json_object_putp) struct json_object *status = failed_status(5, "first", 3);
  CU_ASSERT(wait_of(status, "first") > 0);
  CU_ASSERT_EQUAL(wait_of(status, "second"), 0);
  CLEANUP(json_object_putp) struct json_object *unasked = failed_status(5, NULL, 3);
  CU_ASSERT_EQUAL(wait_of(unasked, "first"), 0);
}

static void
test_a_time_that_is_past_or_none_is_not_waited_for(void)
{
  static const char *const texts[] = {"2001-01-01T00:00:00Z", "", "soon"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    CLEANUP(json_object_putp) struct json_object *status = json_object_new_object();
    json_put_text(status, texts[i], "retryAt");
    CHECK_ROW(wait_of(status, NULL) == 0, texts[i]);
  }
}

static void
test_a_wrong_clock_is_not_believed_for_long(void)
{
  CLEANUP(json_object_putp) struct json_object *status = json_object_new_object();
  json_put_text(status, "2999-01-01T00:00:00Z", "retryAt");
  CU_ASSERT_EQUAL(wait_of(status, NULL), 256000);
}

static void
test_what_is_cleared_waits_for_nothing(void)
{
  CLEANUP(json_object_putp) struct json_object *status = failed_status(5, "first", 3);
  CLEANUP(kube_object_releasep) struct kube_object *object = object_with(status, "second");
  CU_ASSERT(retry_is_asked(object));
  retry_clear(object, status);
  CU_ASSERT_EQUAL(wait_of(status, "second"), 0);
  CLEANUP(kube_object_releasep) struct kube_object *cleared = object_with(status, "second");
  CU_ASSERT(!retry_is_asked(cleared));
}

UNIT_MAIN("populator/objects/retry", UNIT_TEST(test_pauses_double_up_to_a_limit),
          UNIT_TEST(test_a_changed_spec_does_not_wait),
          UNIT_TEST(test_a_new_request_does_not_wait_and_an_old_one_does),
          UNIT_TEST(test_a_time_that_is_past_or_none_is_not_waited_for),
          UNIT_TEST(test_a_wrong_clock_is_not_believed_for_long),
          UNIT_TEST(test_what_is_cleared_waits_for_nothing))
