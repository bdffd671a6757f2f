/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/sandbox_network.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "tests/unit/unit.h"

static bool
allows(const struct net_policy *policy, const char *host, uint16_t port)
{
  struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (inet_pton(AF_INET, host, &in.sin_addr) == 1)
    return net_policy_allows(policy, (struct sockaddr *)&in, sizeof(in), false);
  REQUIRE(inet_pton(AF_INET6, host, &in6.sin6_addr) == 1);
  return net_policy_allows(policy, (struct sockaddr *)&in6, sizeof(in6), false);
}

static bool
allows_path(const struct net_policy *policy, const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path, strlen(path));
  return net_policy_allows(policy, (struct sockaddr *)&address, sizeof(address), false);
}

static void
test_daemons_are_reached_on_all_their_ports(void)
{
  struct daemons daemons = {.first_port = 6800, .last_port = 7568};
  daemons_add_mon_host(&daemons, "10.0.0.1 10.0.0.2:6790 [v2:10.0.0.3:6900,v1:10.0.0.3:6901]");
  struct net_policy policy = {0};
  sandbox_network_add_daemons(&policy, &daemons);
  CU_ASSERT(allows(&policy, "10.0.0.1", 6789) && allows(&policy, "10.0.0.1", 3300));
  CU_ASSERT(allows(&policy, "10.0.0.1", 6800) && allows(&policy, "10.0.0.1", 7568));
  CU_ASSERT(allows(&policy, "10.0.0.2", 6790) && allows(&policy, "10.0.0.2", 7000));
  CU_ASSERT_FALSE(allows(&policy, "10.0.0.2", 3300));
  CU_ASSERT(allows(&policy, "10.0.0.3", 6950));
  CU_ASSERT_FALSE(allows(&policy, "10.0.0.3", 22));
  CU_ASSERT_FALSE(allows(&policy, "10.0.0.4", 6800));
  CHECK_NUMBER(policy.rule_count, 6); /* a host's range once */
  net_policy_clear(&policy);
  daemons_clear(&daemons);
}

static void
test_urls_name_hosts_and_ports(void)
{
  static const struct {
    const char *url;
    const char *host;
    uint16_t port;
    uint16_t other_port; /* that is not allowed */
  } rows[] = {
      {"http://10.0.0.1/x", "10.0.0.1", 80, 81},
      {"https://10.0.0.1", "10.0.0.1", 443, 444},
      {"https://user:pa:ss@10.0.0.1:8443/x?y@z", "10.0.0.1", 8443, 8444},
      {"docker://10.0.0.1/repo:tag", "10.0.0.1", 443, 5000},
      {"docker://10.0.0.1:5000/repo:tag", "10.0.0.1", 5000, 5001},
      {"https://[fd00::1]:8443/x", "fd00::1", 8443, 8444},
      {"http://bucket.s3.localhost:9000/", "127.0.0.1", 9000, 9001},
      {"nbd://10.0.0.1", "10.0.0.1", 10809, 443},
      {"nbds://[fd00::1]/export", "fd00::1", 10809, 10810},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct net_policy policy = {0};
    CHECK_NUMBER(sandbox_network_add_url(&policy, rows[i].url, false, NULL), 0);
    CHECK_ROW(allows(&policy, rows[i].host, rows[i].port), rows[i].url);
    CHECK_ROW(!allows(&policy, rows[i].host, rows[i].other_port), rows[i].url);
    CHECK_ROW(!allows(&policy, "127.0.0.2", rows[i].port), rows[i].url);
    net_policy_clear(&policy);
  }
}

/* A server that redirects to https, a registry whose tokens or blobs are elsewhere. */
static void
test_servers_inside_lead_inside(void)
{
  static const struct {
    const char *url;
    const char *host;
    uint16_t port;
    bool is_allowed;
    bool is_allowed_locally; /* with the flag for local addresses */
  } rows[] = {
      {"http://10.0.0.1:8080/", "10.0.0.1", 443, true, true},
      {"https://10.0.0.1:5050/", "10.0.0.1", 80, true, true},
      {"https://10.0.0.1:5050/", "10.0.0.1", 5051, false, true},
      {"https://10.0.0.1:5050/", "192.168.7.7", 443, true, true},
      {"https://10.0.0.1:5050/", "172.31.0.1", 80, true, true},
      {"https://10.0.0.1:5050/", "fd00::7", 443, true, true},
      {"https://[fd00::1]/", "10.0.0.1", 443, true, true},
      {"https://10.0.0.1:5050/", "192.168.7.7", 5050, false, true},
      {"https://10.0.0.1:5050/", "192.168.7.7", 22, false, false},
      {"https://10.0.0.1/", "127.0.0.1", 443, false, true},
      {"https://10.0.0.1/", "169.254.169.254", 80, false, true},
      {"https://10.0.0.1/", "fd00:ec2::254", 80, false, true},
      {"https://8.8.8.8/", "10.0.0.1", 443, false, true},
      {"http://127.0.0.1:5000/", "127.0.0.1", 443, true, true},
      {"http://127.0.0.1:5000/", "127.0.0.1", 5001, false, true},
      {"http://127.0.0.1:5000/", "10.0.0.1", 443, false, true},
      {"nbd://10.0.0.1", "10.0.0.2", 443, false, false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct net_policy plain = {0}, local = {0};
    CHECK_NUMBER(sandbox_network_add_url(&plain, rows[i].url, false, NULL), 0);
    CHECK_NUMBER(sandbox_network_add_url(&local, rows[i].url, true, NULL), 0);
    CHECK_ROW(allows(&plain, rows[i].host, rows[i].port) == rows[i].is_allowed, rows[i].host);
    CHECK_ROW(allows(&local, rows[i].host, rows[i].port) == rows[i].is_allowed_locally,
              rows[i].host);
    net_policy_clear(&plain);
    net_policy_clear(&local);
  }
}

static void
test_the_web_may_lead_anywhere_outside(void)
{
  struct net_policy web = {0}, nbd = {0};
  CHECK_NUMBER(sandbox_network_add_url(&web, "https://10.0.0.1:8443/x", false, NULL), 0);
  CU_ASSERT(allows(&web, "8.8.8.8", 443) && allows(&web, "8.8.8.8", 80));
  CU_ASSERT(allows(&web, "8.8.8.8", 8443));
  CU_ASSERT_FALSE(allows(&web, "8.8.8.8", 22));
  CU_ASSERT_FALSE(allows(&web, "169.254.169.254", 80));
  CHECK_NUMBER(sandbox_network_add_url(&nbd, "nbd://10.0.0.1", false, NULL), 0);
  CU_ASSERT_FALSE(allows(&nbd, "8.8.8.8", 10809));
  net_policy_clear(&web);
  net_policy_clear(&nbd);
}

static void
test_unix_sockets_are_named_by_their_path(void)
{
  struct net_policy policy = {0};
  CHECK_NUMBER(sandbox_network_add_url(&policy, "nbd+unix:///e?socket=/run/a.sock", false, NULL),
               0);
  CHECK_NUMBER(
      sandbox_network_add_url(&policy, "nbds+unix:///?x=1&socket=/b%20c%2f%&y", false, NULL), 0);
  CHECK_NUMBER(sandbox_network_add_url(&policy, "nbd+unix:///", false, NULL), 0);
  CU_ASSERT(allows_path(&policy, "/run/a.sock"));
  CU_ASSERT(allows_path(&policy, "/b c/%"));
  CHECK_NUMBER(policy.path_count, 2);
  net_policy_clear(&policy);
}

static void
test_urls_without_hosts_need_nothing(void)
{
  static const char *const urls[] = {"file:///x", "/x", "-", "rbd:pool/image", "oci-archive:x"};
  struct net_policy policy = {0};
  for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
    CHECK_NUMBER(sandbox_network_add_url(&policy, urls[i], false, NULL), 0);
  CHECK_NUMBER(policy.rule_count + policy.path_count, 0);
}

static void
test_urls_that_lack_what_they_need_are_refused(void)
{
  static const char *const urls[] = {"http://", "http://:80/", "https://10.0.0.1:x/",
                                     "https://10.0.0.1:65536/", "nbd:///export"};
  for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
    struct net_policy policy = {0};
    struct error *err = NULL;
    CHECK_ROW(sandbox_network_add_url(&policy, urls[i], false, &err) == -1, urls[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "names no host");
    net_policy_clear(&policy);
  }
}

UNIT_MAIN("populator/transfer/sandbox_network",
          UNIT_TEST(test_daemons_are_reached_on_all_their_ports),
          UNIT_TEST(test_urls_name_hosts_and_ports), UNIT_TEST(test_servers_inside_lead_inside),
          UNIT_TEST(test_the_web_may_lead_anywhere_outside),
          UNIT_TEST(test_unix_sockets_are_named_by_their_path),
          UNIT_TEST(test_urls_without_hosts_need_nothing),
          UNIT_TEST(test_urls_that_lack_what_they_need_are_refused))
