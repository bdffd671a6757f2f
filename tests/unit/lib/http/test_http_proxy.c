/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_proxy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

static const char *const variables[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                        "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY"};

static void
clear_environment(void)
{
  for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
    (void)unsetenv(variables[i]);
}

static const char *
proxy_for(const char *text, const char *configured)
{
  struct http_url url = {0};
  REQUIRE(http_url_parse(text, &url, NULL) == 0);
  const char *proxy = http_proxy_for(&url, configured);
  http_url_clear(&url);
  return proxy;
}

static void
test_without_any_there_is_none(void)
{
  clear_environment();
  CHECK_STRING(proxy_for("http://a/", NULL), NULL);
  CHECK_STRING(proxy_for("http://a/", ""), NULL);
  (void)setenv("HTTP_PROXY", "http://cgi", 1);
  CHECK_STRING(proxy_for("http://a/", NULL), NULL);
}

static void
test_the_environment_has_one_for_each_scheme(void)
{
  clear_environment();
  (void)setenv("http_proxy", "http://p1", 1);
  (void)setenv("HTTPS_PROXY", "http://p2", 1);
  CHECK_STRING(proxy_for("http://a/", NULL), "http://p1");
  CHECK_STRING(proxy_for("https://a/", NULL), "http://p2");
  (void)setenv("https_proxy", "http://p3", 1);
  CHECK_STRING(proxy_for("https://a/", NULL), "http://p3");
  clear_environment();
  (void)setenv("ALL_PROXY", "http://p4", 1);
  CHECK_STRING(proxy_for("http://a/", NULL), "http://p4");
  CHECK_STRING(proxy_for("https://a/", NULL), "http://p4");
}

static void
test_the_configured_one_is_for_all(void)
{
  clear_environment();
  (void)setenv("http_proxy", "http://p1", 1);
  CHECK_STRING(proxy_for("http://a/", "http://p9"), "http://p9");
  CHECK_STRING(proxy_for("https://a/", "http://p9"), "http://p9");
  (void)setenv("NO_PROXY", "a", 1);
  CHECK_STRING(proxy_for("http://a/", "http://p9"), NULL);
  CHECK_STRING(proxy_for("http://b/", "http://p9"), "http://p9");
}

static void
test_exceptions(void)
{
  static const struct {
    const char *host;
    const char *no_proxy;
    bool is_excepted;
  } rows[] = {
      {"a", "*", true},
      {"example.com", "example.com", true},
      {"example.com", ".example.com", true},
      {"EXAMPLE.com", "example.COM", true},
      {"x.example.com", "example.com", true},
      {"xexample.com", "example.com", false},
      {"example.com", "x.example.com", false},
      {"example.com", "a, b,example.com", true},
      {"example.com", "a b\texample.com c", true},
      {"example.com", ",, ,", false},
      {"example.com", "", false},
      {"example.com", ".", false},
      {"10.1.2.3", "10.1.2.3", true},
      {"10.1.2.3", "10.0.0.0/8", true},
      {"10.1.2.3", "10.1.2.0/31", false},
      {"10.1.2.1", "10.1.2.0/31", true},
      {"11.1.2.3", "10.0.0.0/8", false},
      {"10.1.2.3", "0.0.0.0/0", true},
      {"10.1.2.3", "10.0.0.0/33", false},
      {"10.1.2.3", "10.0.0.0/x", false},
      {"10.1.2.3", "2.3", false},
      {"2001:db8::1", "2001:db8::/32", true},
      {"2001:db9::1", "2001:db8::/32", false},
      {"2001:db8::1", "10.0.0.0/8", false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(http_proxy_is_excepted(rows[i].host, rows[i].no_proxy) == rows[i].is_excepted,
              rows[i].no_proxy);
}

static void
test_what_can_be_a_proxy(void)
{
  static const char *const good[] = {
      "proxy",         "proxy:3128",           "http://u:p@proxy:3128/",
      "https://proxy", "socks5h://proxy:1080", "HTTP://[::1]:8080"};
  static const char *const bad[] = {"ftp://u:secret@proxy", "http://u:secret@proxy:port",
                                    "http://u:secret@pro xy"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
    CHECK_ROW(http_proxy_check(good[i], NULL) == 0, good[i]);
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct error *err = NULL;
    CHECK_ROW(http_proxy_check(bad[i], &err) == -1, bad[i]);
    CU_ASSERT(err && !strstr(err->message, "secret"));
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "the proxy's URL");
  }
}

UNIT_MAIN("lib/http/http_proxy", UNIT_TEST(test_without_any_there_is_none),
          UNIT_TEST(test_the_environment_has_one_for_each_scheme),
          UNIT_TEST(test_the_configured_one_is_for_all), UNIT_TEST(test_exceptions),
          UNIT_TEST(test_what_can_be_a_proxy))
