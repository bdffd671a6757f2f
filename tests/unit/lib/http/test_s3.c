/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/s3.h"

#include <stdlib.h>

#include "lib/http/s3_sign.h"
#include "tests/unit/unit.h"

static void
test_where_objects_are(void)
{
  static const struct {
    struct s3_options options;
    const char *bucket;
    const char *key;
    const char *url;
  } rows[] = {
      {{0}, "b", "k", "https://b.s3.us-east-1.amazonaws.com/k"},
      {{.region = "eu-west-1"}, "b", "k", "https://b.s3.eu-west-1.amazonaws.com/k"},
      {{.region = "eu-west-1", .path_style = true},
       "b",
       "k",
       "https://s3.eu-west-1.amazonaws.com/b/k"},
      {{.endpoint = "http://store:8080"}, "b", "a/k", "http://store:8080/b/a/k"},
      {{.endpoint = "http://store:8080/"}, "b", NULL, "http://store:8080/b"},
      {{.endpoint = "http://store:8080", .host_style = true}, "b", "k", "http://b.store:8080/k"},
      {{.endpoint = "http://store:8080/", .host_style = true}, "b", NULL, "http://b.store:8080/"},
      {{.endpoint = "https://s3.eu-west-1.AmazonAWS.com"},
       "b",
       "k",
       "https://b.s3.eu-west-1.AmazonAWS.com/k"},
      {{.endpoint = "https://notamazonaws.com"}, "b", "k", "https://notamazonaws.com/b/k"},
      {{.endpoint = "http://store:8080//", .path_style = true}, "b", NULL, "http://store:8080/b"},
      {{.endpoint = "http://192.0.2.1:8080", .host_style = true},
       "b",
       "k",
       "http://192.0.2.1:8080/b/k"},
      {{.endpoint = "https://[2001:db8::1]"}, "b", "k", "https://[2001:db8::1]/b/k"},
      {{.endpoint = "https://store"}, "with.dots", "k", "https://store/with.dots/k"},
      {{.endpoint = "https://store"}, "Upper", "k", "https://store/Upper/k"},
      {{.endpoint = "https://store"}, "-b", "k", "https://store/-b/k"},
      {{.endpoint = "https://store"}, "a b", "k", "https://store/a%20b/k"},
      {{.endpoint = "https://store"}, "b", "a b/../c+d?e", "https://store/b/a%20b/../c%2Bd%3Fe"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *url = s3_url(&rows[i].options, rows[i].bucket, rows[i].key);
    CHECK_STRING(url, rows[i].url);
  }
}

static void
test_options_that_cannot_be_signed_with(void)
{
  static const struct {
    struct s3_options options;
    const char *text;
  } rows[] = {
      {{.access_key = "a"}, "without its secret key"},
      {{.region = ""}, "is not an S3 region"},
      {{.region = "a:b"}, "is not an S3 region"},
      {{.region = "0123456789012345678901234567890123456789012345678901234567890123456789"},
       "is not an S3 region"},
      {{.access_key = "a\n", .secret_key = "s"}, "line break"},
      {{.access_key = "a", .secret_key = "s\n"}, "line break"},
      {{.access_key = "a", .secret_key = "s", .session_token = "t\r\nX: y"}, "line break"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(s3_sign_check(&rows[i].options, &err) == -1, rows[i].text);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, rows[i].text);
  }
  const struct s3_options fine = {.access_key = "a", .secret_key = "s", .region = "eu-west-1"};
  CHECK_NUMBER(s3_sign_check(&fine, NULL), 0);
  CHECK_NUMBER(s3_sign_check(&(struct s3_options){0}, NULL), 0);
}

static void
test_bodies_are_hashed_unless_tls_guards_them(void)
{
  CLEANUP(freep) char *empty = s3_sign_body(NULL, 0, false);
  CHECK_STRING(empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CLEANUP(freep) char *small = s3_sign_body("abc", 3, true);
  CHECK_STRING(small, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  static const char large[65537];
  CLEANUP(freep) char *guarded = s3_sign_body(large, sizeof(large), true);
  CHECK_STRING(guarded, "UNSIGNED-PAYLOAD");
  CLEANUP(freep) char *plain = s3_sign_body(large, sizeof(large), false);
  CHECK_NUMBER(strlen(plain), 64);
}

UNIT_MAIN("lib/http/s3", UNIT_TEST(test_where_objects_are),
          UNIT_TEST(test_options_that_cannot_be_signed_with),
          UNIT_TEST(test_bodies_are_hashed_unless_tls_guards_them))
