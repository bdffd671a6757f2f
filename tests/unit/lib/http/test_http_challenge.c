/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_challenge.h"

#include "tests/unit/unit.h"

struct expected {
  const char *realm;
  const char *service;
  const char *scope;
};

static void
check(const char *field, const char *scheme, const struct expected *expected)
{
  struct http_challenge challenge = {0};
  CHECK_ROW(http_challenge_find(field, scheme, &challenge) == 0, field);
  CHECK_STRING(challenge.realm, expected->realm);
  CHECK_STRING(challenge.service, expected->service);
  CHECK_STRING(challenge.scope, expected->scope);
  http_challenge_clear(&challenge);
}

#define CHECK_CHALLENGE(field, scheme, ...)                                                        \
  check((field), (scheme), &(const struct expected){__VA_ARGS__})

static void
test_a_registry_tells_where_tokens_come_from(void)
{
  CHECK_CHALLENGE("Bearer realm=\"https://auth.example/token\",service=\"registry.example\","
                  "scope=\"repository:a/b:pull,push\"",
                  "Bearer", .realm = "https://auth.example/token", .service = "registry.example",
                  .scope = "repository:a/b:pull,push");
}

static void
test_case_blanks_and_order_do_not_matter(void)
{
  CHECK_CHALLENGE("bearer  Scope = x , REALM=\"r\"", "Bearer", .realm = "r", .scope = "x");
  CHECK_CHALLENGE("Basic", "basic", .realm = NULL);
  CHECK_CHALLENGE("Basic realm=plain", "Basic", .realm = "plain");
  CHECK_CHALLENGE("Bearer error=\"x\", realm=\"r\",", "Bearer", .realm = "r");
}

static void
test_the_right_one_of_several_is_found(void)
{
  const char *several = "Negotiate, NTLM TlRMTVNTUAAC==, Digest realm=\"d, e\", nonce=\"n=1\", "
                        "Basic realm=\"b\", Bearer realm=\"t\", service=s";
  CHECK_CHALLENGE(several, "Negotiate", .realm = NULL);
  CHECK_CHALLENGE(several, "NTLM", .realm = NULL);
  CHECK_CHALLENGE(several, "Digest", .realm = "d, e");
  CHECK_CHALLENGE(several, "Basic", .realm = "b");
  CHECK_CHALLENGE(several, "Bearer", .realm = "t", .service = "s");
  CHECK_CHALLENGE("Negotiate , Basic realm=b", "Basic", .realm = "b");
}

static void
test_quoted_text_may_hold_anything(void)
{
  CHECK_CHALLENGE("Basic realm=\"say \\\"hi\\\", \\\\ = Bearer realm=x\"", "Basic",
                  .realm = "say \"hi\", \\ = Bearer realm=x");
  CHECK_CHALLENGE("Basic realm=\"\"", "Basic", .realm = "");
}

static void
test_the_first_value_of_a_name_counts(void)
{
  CHECK_CHALLENGE("Bearer realm=a, realm=b", "Bearer", .realm = "a");
}

static void
test_malformed_fields_have_no_challenge(void)
{
  static const char *const rows[] = {
      "",
      ",",
      "Bearer=x",
      "=",
      "Bearer realm=\"r",
      "Bearer realm=\"r\\",
      "Bearer realm=\"r\"x",
      "Bearer realm=a b",
      "\"Bearer\" realm=r",
      "Basic realm=\"b\"; Bearer realm=r",
      "Other realm=r",
      "Bearerrealm=\"r\"",
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_challenge challenge = {0};
    CHECK_ROW(http_challenge_find(rows[i], "Bearer", &challenge) == -1, rows[i]);
    http_challenge_clear(&challenge);
  }
}

UNIT_MAIN("lib/http/http_challenge", UNIT_TEST(test_a_registry_tells_where_tokens_come_from),
          UNIT_TEST(test_case_blanks_and_order_do_not_matter),
          UNIT_TEST(test_the_right_one_of_several_is_found),
          UNIT_TEST(test_quoted_text_may_hold_anything),
          UNIT_TEST(test_the_first_value_of_a_name_counts),
          UNIT_TEST(test_malformed_fields_have_no_challenge))
