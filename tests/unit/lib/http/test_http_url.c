/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_url.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

static void
test_secrets_are_taken_out(void)
{
  struct http_url url = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(http_url_parse("https://us%65r:p%40ss@Example.com/a%20b/../c?sig=secret#top", &url,
                         &err) == 0);
  CHECK_STRING(url.user, "user");
  CHECK_STRING(url.password, "p@ss");
  CHECK_STRING(url.text, "https://Example.com/a%20b/../c?sig=secret");
  CHECK_STRING(url.label, "https://Example.com/a%20b/../c");
  CHECK_STRING(url.port, "443");
  CU_ASSERT(url.is_tls);
  http_url_clear(&url);
}

static void
test_hosts_and_ports_are_told_apart(void)
{
  static const struct {
    const char *text;
    const char *host;
    const char *port;
  } rows[] = {
      {"http://example.com/x", "example.com", "80"},
      {"http://example.com:8080", "example.com", "8080"},
      {"https://192.0.2.1/", "192.0.2.1", "443"},
      {"http://[2001:db8::1]:81/", "2001:db8::1", "81"},
      {"http://127.1/", "127.0.0.1", "80"},
      {"http://0x7f000001/", "127.0.0.1", "80"},
      {"http://2130706433/", "127.0.0.1", "80"},
      {"HTTP://example.com/a b", "example.com", "80"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_url url = {0};
    CHECK_ROW(http_url_parse(rows[i].text, &url, NULL) == 0, rows[i].text);
    CHECK_STRING(url.host, rows[i].host);
    CHECK_STRING(url.port, rows[i].port);
    http_url_clear(&url);
  }
}

static void
test_bad_urls_are_refused_without_showing_them(void)
{
  static const char *const rows[] = {"",
                                     "example.com/x",
                                     "ftp://example.com/",
                                     "file:///etc/passwd",
                                     "gopher://example.com/",
                                     "http://",
                                     "http://user:geheim@",
                                     "http://exa mple.com/",
                                     "http://user:geheim@host:port/",
                                     "http://[::1/",
                                     "http://a/\nHost: b"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_url url = {0};
    CLEANUP(error_freep) struct error *err = NULL;
    CHECK_ROW(http_url_parse(rows[i], &url, &err) == -1, rows[i]);
    CHECK_ROW(err && !strstr(err->message, "geheim"), rows[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "the URL");
    http_url_clear(&url);
  }
}

static void
test_redirects_are_resolved(void)
{
  static const struct {
    const char *location;
    const char *text;
  } rows[] = {
      {"/c", "https://example.com:444/c"},
      {"c", "https://example.com:444/a/c"},
      {"../c?y=1", "https://example.com:444/c?y=1"},
      {"?y=1", "https://example.com:444/a/b?y=1"},
      {"//other.example/c", "https://other.example/c"},
      {"http://other.example/c", "http://other.example/c"},
      {"https://user:pw@other.example/c#f", "https://other.example/c"},
      {"/a b", "https://example.com:444/a%20b"},
  };
  struct http_url base = {0};
  REQUIRE(http_url_parse("https://example.com:444/a/b?x=1", &base, NULL) == 0);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_url url = {0};
    CHECK_ROW(http_url_resolve(&base, rows[i].location, &url, NULL) == 0, rows[i].location);
    CHECK_STRING(url.text, rows[i].text);
    CHECK_STRING(url.user, NULL);
    http_url_clear(&url);
  }
  struct http_url url = {0};
  CHECK_NUMBER(http_url_resolve(&base, "file:///etc/passwd", &url, NULL), -1);
  CHECK_NUMBER(http_url_resolve(&base, "http://[", &url, NULL), -1);
  http_url_clear(&base);
}

static void
test_credentials_stay_with_their_server(void)
{
  static const struct {
    const char *from;
    const char *to;
    bool is_same;
  } rows[] = {
      {"http://a/x", "http://a/y", true},        {"http://a/x", "http://A:80/y", true},
      {"http://a/x", "https://a/y", true},       {"https://a/x", "https://a:443/y", true},
      {"https://a/x", "http://a/y", false},      {"http://a/x", "http://a:8080/y", false},
      {"http://a:8080/x", "https://a/y", false}, {"http://a/x", "https://a:8443/y", false},
      {"http://a/x", "http://b/y", false},       {"http://a/x", "http://a.b/y", false},
      {"http://a.b/x", "http://b/y", false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct http_url from = {0};
    struct http_url to = {0};
    REQUIRE(http_url_parse(rows[i].from, &from, NULL) == 0);
    REQUIRE(http_url_parse(rows[i].to, &to, NULL) == 0);
    CHECK_ROW(http_url_same_server(&from, &to) == rows[i].is_same, rows[i].to);
    http_url_clear(&from);
    http_url_clear(&to);
  }
}

static void
test_encoding_and_back(void)
{
  static const struct {
    const char *plain;
    const char *encoded;
  } rows[] = {
      {"", ""},
      {"Az09-._~", "Az09-._~"},
      {"a/b", "a/b"},
      {"a b+c", "a%20b%2Bc"},
      {"%", "%25"},
      {"\xc3\xa9", "%C3%A9"},
      {"!*'();:@&=$,?#[]", "%21%2A%27%28%29%3B%3A%40%26%3D%24%2C%3F%23%5B%5D"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *encoded = http_url_encode(rows[i].plain, true);
    CLEANUP(freep) char *decoded = http_url_decode(encoded);
    CHECK_STRING(encoded, rows[i].encoded);
    CHECK_STRING(decoded, rows[i].plain);
  }
  CLEANUP(freep) char *slash = http_url_encode("a/b", false);
  CHECK_STRING(slash, "a%2Fb");
  CLEANUP(freep) char *lower = http_url_decode("%c3%a9+");
  CHECK_STRING(lower, "\xc3\xa9+");
}

static void
test_bad_escapes_are_refused(void)
{
  static const char *const rows[] = {"%", "%1", "a%", "%zz", "%1g", "%00", "a%00b"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    CHECK_ROW(http_url_decode(rows[i]) == NULL, rows[i]);
}

UNIT_MAIN("lib/http/http_url", UNIT_TEST(test_secrets_are_taken_out),
          UNIT_TEST(test_hosts_and_ports_are_told_apart),
          UNIT_TEST(test_bad_urls_are_refused_without_showing_them),
          UNIT_TEST(test_redirects_are_resolved),
          UNIT_TEST(test_credentials_stay_with_their_server), UNIT_TEST(test_encoding_and_back),
          UNIT_TEST(test_bad_escapes_are_refused))
