/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_request.h"

#include <string.h>

#include "tests/unit/unit.h"

#define PATH "/v1/namespaces/default/images/ubuntu"

static struct upload_head
good_head(void)
{
  return (struct upload_head){
      .method = "PUT", .path = PATH, .authorization = "Bearer abc", .content_length = "100"};
}

static int
code_of(const struct upload_head *head)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct upload_request request;
  if (upload_request_parse(head, &request, &err) < 0)
    return (int)err->code;
  upload_request_clear(&request);
  return 0;
}

static void
test_a_whole_file(void)
{
  struct upload_head head = good_head();
  struct upload_request request;
  head.prefer = "wait=60";
  REQUIRE(upload_request_parse(&head, &request, NULL) == 0);
  CHECK_STRING(request.ns, "default");
  CHECK_STRING(request.name, "ubuntu");
  CHECK_STRING(request.token, "abc");
  CU_ASSERT(request.is_put);
  CU_ASSERT_EQUAL(request.first, 0);
  CU_ASSERT_EQUAL(request.length, 100);
  CU_ASSERT_EQUAL(request.total, 100);
  CU_ASSERT_EQUAL(request.wait_s, 60);
  upload_request_clear(&request);
}

static void
test_a_data_volume(void)
{
  struct upload_head head = good_head();
  struct upload_request request;
  head.path = "/v1/namespaces/default/datavolumes/images";
  REQUIRE(upload_request_parse(&head, &request, NULL) == 0);
  CU_ASSERT_PTR_EQUAL(request.kind, &data_volume_upload);
  CHECK_STRING(request.ns, "default");
  CHECK_STRING(request.name, "images");
  upload_request_clear(&request);
}

static void
test_a_piece(void)
{
  struct upload_head head = good_head();
  struct upload_request request;
  head.content_range = "bytes 50-149/1000";
  REQUIRE(upload_request_parse(&head, &request, NULL) == 0);
  CU_ASSERT_EQUAL(request.first, 50);
  CU_ASSERT_EQUAL(request.length, 100);
  CU_ASSERT_EQUAL(request.total, 1000);
  upload_request_clear(&request);
}

static void
test_other_paths_are_not_there(void)
{
  static const char *const paths[] = {
      "",
      "/",
      "/v1/namespaces/default/images/",
      "/v1/namespaces//images/ubuntu",
      "/v1/namespaces/default/images/..",
      "/v1/namespaces/../images/ubuntu",
      "/v1/namespaces/default/images/a/b",
      "/v1/namespaces/default/images/a..b",
      "/v1/namespaces/default/images/-a",
      "/v1/namespaces/default/images/a-",
      "/v1/namespaces/de.fault/images/ubuntu",
      "/v1/namespaces/Default/images/ubuntu",
      "/v1/namespaces/default/images/ubuntu/images/ubuntu",
      "/v1/namespaces/default/images/ub untu",
      "/v2/namespaces/default/images/ubuntu",
      "/v1/namespaces/default/pods/ubuntu",
      "/v1/namespaces/default//ubuntu",
      "/v1/namespaces/default/datavolumes/",
      "v1/namespaces/default/images/ubuntu",
  };
  for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
    struct upload_head head = good_head();
    head.path = paths[i];
    CU_ASSERT_EQUAL(code_of(&head), ERROR_NOT_FOUND);
  }
}

static void
test_bad_fields_are_refused(void)
{
  static const char *const ranges[] = {"",
                                       "bytes",
                                       "bytes ",
                                       "bytes 0-99",
                                       "bytes 0-99/",
                                       "bytes 0-99/*",
                                       "bytes */100",
                                       "bytes 0-99/99",
                                       "bytes 99-0/100",
                                       "bytes 0-98/100",
                                       "bytes 0-99/100 ",
                                       "bytes 0-99/100,200-299/300",
                                       "bytes 0x0-99/100",
                                       "bytes 18446744073709551616-99/100",
                                       "items 0-99/100"};
  static const char *const lengths[] = {"", "0", "-1", "1e3", " 100", "99999999999999999999"};
  static const char *const tokens[] = {"", "abc", "Bearer", "Bearer ", "Basic abc"};
  struct upload_head head;
  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
    head = good_head();
    head.content_range = ranges[i];
    CU_ASSERT_EQUAL(code_of(&head), ERROR_INVALID_ARGUMENT);
  }
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    head = good_head();
    head.content_length = lengths[i];
    CU_ASSERT_EQUAL(code_of(&head), ERROR_INVALID_ARGUMENT);
  }
  for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
    head = good_head();
    head.authorization = tokens[i];
    CU_ASSERT_EQUAL(code_of(&head), ERROR_UNAUTHENTICATED);
  }
  head = good_head();
  head.checksum = "sha256:12";
  CU_ASSERT_EQUAL(code_of(&head), ERROR_INVALID_ARGUMENT);
  head = good_head();
  head.method = "DELETE";
  CU_ASSERT_EQUAL(code_of(&head), ERROR_UNIMPLEMENTED);
}

static void
test_how_much_is_sent_must_be_known(void)
{
  struct upload_head head = good_head();
  CU_ASSERT(!upload_request_lacks_length(&head));
  head.transfer_encoding = "chunked";
  CU_ASSERT(upload_request_lacks_length(&head));
  CU_ASSERT_EQUAL(code_of(&head), ERROR_INVALID_ARGUMENT);
  head = good_head();
  head.content_length = NULL;
  CU_ASSERT(upload_request_lacks_length(&head));
  CU_ASSERT_EQUAL(code_of(&head), ERROR_INVALID_ARGUMENT);
  head.method = "GET";
  CU_ASSERT(!upload_request_lacks_length(&head));
  CU_ASSERT_EQUAL(code_of(&head), 0);
}

static unsigned
wait_of(const char *prefer)
{
  struct upload_head head = good_head();
  struct upload_request request;
  head.prefer = prefer;
  REQUIRE(upload_request_parse(&head, &request, NULL) == 0);
  unsigned wait_s = request.wait_s;
  upload_request_clear(&request);
  return wait_s;
}

static void
test_waiting_is_one_of_several_wishes(void)
{
  CU_ASSERT_EQUAL(wait_of("wait=7"), 7);
  CU_ASSERT_EQUAL(wait_of("respond-async, Wait=7"), 7);
  CU_ASSERT_EQUAL(wait_of("wait=7;x=y, handling=lenient"), 7);
  CU_ASSERT_EQUAL(wait_of("wait=99999999999"), UPLOAD_WAIT_MAX_S);
  CU_ASSERT_EQUAL(wait_of("wait=99999999999999999999999"), 0);
  CU_ASSERT_EQUAL(wait_of("wait="), 0);
  CU_ASSERT_EQUAL(wait_of(",,await=7,"), 0);
  CU_ASSERT_EQUAL(wait_of(""), 0);
}

static void
test_an_export_is_asked_for(void)
{
  struct upload_head head = {.method = "GET",
                             .path = "/v1/namespaces/default/exports/disk",
                             .authorization = "Bearer abc"};
  struct upload_request request;
  REQUIRE(upload_request_parse(&head, &request, NULL) == 0);
  CHECK_STRING(request.ns, "default");
  CHECK_STRING(request.name, "disk");
  CU_ASSERT(request.is_export && !request.is_head);
  upload_request_clear(&request);
  head.method = "HEAD";
  REQUIRE(upload_request_parse(&head, &request, NULL) == 0);
  CU_ASSERT(request.is_export && request.is_head);
  upload_request_clear(&request);
  head.method = "PUT";
  head.content_length = "100";
  CU_ASSERT_EQUAL(code_of(&head), ERROR_UNIMPLEMENTED);
  head.path = "/v1/namespaces/default/exports/../images/x";
  CU_ASSERT_EQUAL(code_of(&head), ERROR_NOT_FOUND);
}

UNIT_MAIN("populator/upload/upload_request", UNIT_TEST(test_a_whole_file),
          UNIT_TEST(test_a_data_volume), UNIT_TEST(test_a_piece),
          UNIT_TEST(test_how_much_is_sent_must_be_known),
          UNIT_TEST(test_waiting_is_one_of_several_wishes), UNIT_TEST(test_an_export_is_asked_for),
          UNIT_TEST(test_other_paths_are_not_there), UNIT_TEST(test_bad_fields_are_refused))
