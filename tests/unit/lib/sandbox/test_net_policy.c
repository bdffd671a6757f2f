/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/net_policy.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static socklen_t
parse(const char *host, uint16_t port, struct sockaddr_storage *ret_address)
{
  *ret_address = (struct sockaddr_storage){0};
  struct sockaddr_in *in = (struct sockaddr_in *)ret_address;
  struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret_address;
  if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    return sizeof(*in);
  }
  REQUIRE(inet_pton(AF_INET6, host, &in6->sin6_addr) == 1);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons(port);
  return sizeof(*in6);
}

static bool
allows(const struct net_policy *policy, const char *host, uint16_t port)
{
  struct sockaddr_storage address;
  socklen_t len = parse(host, port, &address);
  return net_policy_allows(policy, (struct sockaddr *)&address, len, false);
}

static bool
allows_datagram(const struct net_policy *policy, const char *host, uint16_t port)
{
  struct sockaddr_storage address;
  socklen_t len = parse(host, port, &address);
  return net_policy_allows(policy, (struct sockaddr *)&address, len, true);
}

static bool
allows_path(const struct net_policy *policy, const char *path, size_t len, bool is_datagram)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path, len);
  return net_policy_allows(policy, (struct sockaddr *)&address,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len), is_datagram);
}

static void
test_nothing_is_allowed_without_rules(void)
{
  struct net_policy policy = {0};
  CU_ASSERT_FALSE(allows(&policy, "127.0.0.1", 80));
  CU_ASSERT_FALSE(allows(&policy, "8.8.8.8", 53));
  CU_ASSERT_FALSE(allows(&policy, "::1", 80));
  CU_ASSERT_FALSE(allows_path(&policy, "/run/x", 7, false));
}

/* A rule as text, and addresses inside and outside of it. */
static void
test_networks_have_edges(void)
{
  static const struct {
    const char *rule;
    const char *host;
    uint16_t port;
    bool is_allowed;
  } rows[] = {
      {"10.1.2.0/24", "10.1.2.0", 1, true},
      {"10.1.2.0/24", "10.1.2.255", 65535, true},
      {"10.1.2.0/24", "10.1.3.0", 1, false},
      {"10.1.2.0/24", "10.1.1.255", 1, false},
      {"10.1.2.4/30", "10.1.2.7", 1, true},
      {"10.1.2.4/30", "10.1.2.8", 1, false},
      {"10.1.2.3", "10.1.2.3", 1, true},
      {"10.1.2.3", "10.1.2.2", 1, false},
      {"10.1.2.3:443", "10.1.2.3", 443, true},
      {"10.1.2.3:443", "10.1.2.3", 444, false},
      {"10.0.0.0/8:6800-7568", "10.255.0.1", 6800, true},
      {"10.0.0.0/8:6800-7568", "10.255.0.1", 7568, true},
      {"10.0.0.0/8:6800-7568", "10.255.0.1", 7569, false},
      {"10.0.0.0/8:6800-7568", "10.255.0.1", 6799, false},
      {"0.0.0.0/0", "203.0.113.9", 1, true},
      {"0.0.0.0/0", "fd00::1", 1, false},
      {"fd00::/8", "fdff::1", 1, true},
      {"fd00::/8", "fe80::1", 1, false},
      {"[fd00::/64]:3300", "fd00::1", 3300, true},
      {"[fd00::/64]:3300", "fd00::1", 6789, false},
      {"[fd00::1]", "fd00::1", 5, true},
      {"fd00::1", "fd00::1", 5, true},
      {"fd00::1", "fd00::2", 5, false},
      /* the same address in its other form */
      {"10.1.2.3", "::ffff:10.1.2.3", 1, true},
      {"::ffff:10.1.2.0/120", "10.1.2.3", 1, true},
      {"fd00::/8", "10.1.2.3", 1, false},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct net_policy policy = {0};
    CHECK_NUMBER(net_policy_add_text(&policy, rows[i].rule, NULL), 0);
    CHECK_ROW(allows(&policy, rows[i].host, rows[i].port) == rows[i].is_allowed, rows[i].rule);
    CU_ASSERT_FALSE(allows_datagram(&policy, rows[i].host, rows[i].port));
    net_policy_clear(&policy);
  }
}

static void
test_what_is_no_network_is_refused(void)
{
  static const char *const rows[] = {
      "",          "x",          "10.0.0",       "10.0.0.0/33",    "10.0.0.0/",    "10.0.0.0/-1",
      "10.0.0.0:", "10.0.0.0:x", "10.0.0.0:2-1", "10.0.0.0:65536", "10.0.0.0/8/8", "fd00::/129",
      "[fd00::1",  "[fd00::1]x", "fd00::1:443x", "[]:80",          "host.example", "10.0.0.1:1:2"};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct net_policy policy = {0};
    struct error *err = NULL;
    CHECK_ROW(net_policy_add_text(&policy, rows[i], &err) == -1, rows[i]);
    CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is not a network");
    CHECK_NUMBER(policy.rule_count, 0);
    net_policy_clear(&policy);
  }
}

static void
test_public_means_nobodys_own(void)
{
  static const struct {
    const char *host;
    bool is_public;
  } rows[] = {
      {"8.8.8.8", true},
      {"1.0.0.1", true},
      {"172.15.0.1", true},
      {"172.32.0.1", true},
      {"100.128.0.1", true},
      {"2606:4700::1111", true},
      {"64:ff9b::808:808", true},
      {"0.0.0.0", false},
      {"10.1.2.3", false},
      {"100.64.0.1", false},
      {"127.0.0.1", false},
      {"168.63.129.16", false},
      {"169.254.169.254", false},
      {"172.16.0.1", false},
      {"172.31.255.255", false},
      {"192.0.0.192", false},
      {"192.168.1.1", false},
      {"198.19.0.1", false},
      {"224.0.0.1", false},
      {"255.255.255.255", false},
      {"::", false},
      {"::1", false},
      {"::ffff:10.0.0.1", false},
      {"::ffff:127.0.0.1", false},
      {"::10.0.0.1", false},
      {"64:ff9b::a00:1", false},
      {"2001::1", false},
      {"2001:db8::1", false},
      {"2002:a00:1::1", false},
      {"fc00::1", false},
      {"fd00:ec2::254", false},
      {"fe80::1", false},
      {"ff02::1", false},
  };
  struct net_policy policy = {0};
  net_policy_add_public(&policy, 443);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CHECK_ROW(allows(&policy, rows[i].host, 443) == rows[i].is_public, rows[i].host);
    CHECK_ROW(!allows(&policy, rows[i].host, 80), rows[i].host);
  }
  net_policy_clear(&policy);
}

static void
test_hosts_count_whatever_their_own_port(void)
{
  struct net_policy policy = {0};
  struct sockaddr_storage address;
  (void)parse("10.0.0.9", 1234, &address);
  net_policy_add_host(&policy, (struct sockaddr *)&address, 6800, 6801);
  CU_ASSERT(allows(&policy, "10.0.0.9", 6801));
  CU_ASSERT_FALSE(allows(&policy, "10.0.0.9", 1234));
  address.ss_family = AF_UNIX; /* not an internet address */
  net_policy_add_host(&policy, (struct sockaddr *)&address, 1, 2);
  CHECK_NUMBER(policy.rule_count, 1);
  net_policy_clear(&policy);
}

static void
test_sockets_are_allowed_by_their_exact_path(void)
{
  struct net_policy policy = {0};
  net_policy_add_path(&policy, "/run/x.sock");
  CU_ASSERT(allows_path(&policy, "/run/x.sock", 12, false));
  CU_ASSERT(allows_path(&policy, "/run/x.sock", 11, false)); /* without the NUL at its end */
  CU_ASSERT_FALSE(allows_path(&policy, "/run/x.sock", 12, true));
  CU_ASSERT_FALSE(allows_path(&policy, "/run/x.soc", 11, false));
  CU_ASSERT_FALSE(allows_path(&policy, "/run/../run/x.sock", 19, false));
  CU_ASSERT_FALSE(allows_path(&policy, "\0/run/x.sock", 12, false));
  CU_ASSERT_FALSE(allows_path(&policy, "", 0, false));
  net_policy_clear(&policy);
}

static void
test_short_addresses_are_refused(void)
{
  struct net_policy policy = {0};
  struct sockaddr_storage address;
  CHECK_NUMBER(net_policy_add_text(&policy, "0.0.0.0/0", NULL), 0);
  CHECK_NUMBER(net_policy_add_text(&policy, "::/0", NULL), 0);
  const struct sockaddr *plain = (struct sockaddr *)&address;
  (void)parse("1.2.3.4", 80, &address);
  for (socklen_t len = 0; len < sizeof(struct sockaddr_in); len++)
    CU_ASSERT_FALSE(net_policy_allows(&policy, plain, len, false));
  CU_ASSERT(net_policy_allows(&policy, plain, sizeof(struct sockaddr_in), false));
  (void)parse("fd00::1", 80, &address);
  for (socklen_t len = 0; len < 24; len++)
    CU_ASSERT_FALSE(net_policy_allows(&policy, plain, len, false));
  CU_ASSERT(net_policy_allows(&policy, plain, 24, false)); /* the kernel takes it so, too */
  address.ss_family = AF_UNSPEC;
  CU_ASSERT_FALSE(net_policy_allows(&policy, plain, sizeof(address), false));
  net_policy_clear(&policy);
}

static void
test_nameservers_come_from_the_file(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "resolv.conf",
                 "# nameserver 10.0.0.1\nsearch nameserver 10.0.0.2\nnameserver 10.0.0.3\n"
                 "nameserver\t10.0.0.4 # a comment\nnameserver fe80::1%eth0\nnameserverx 10.0.0.5\n"
                 "nameserver 10.0.0.0/8\nnameserver nonsense\n");
  CLEANUP(freep) char *path = temp_dir_path(dir, "resolv.conf");
  struct net_policy policy = {0};
  net_policy_add_nameservers(&policy, path);
  CU_ASSERT(allows(&policy, "10.0.0.3", 53) && allows_datagram(&policy, "10.0.0.3", 53));
  CU_ASSERT(allows_datagram(&policy, "10.0.0.4", 53));
  CU_ASSERT(allows_datagram(&policy, "fe80::1", 53));
  CHECK_NUMBER(policy.rule_count, 6);
  CU_ASSERT_FALSE(allows(&policy, "10.0.0.3", 54));
  net_policy_clear(&policy);
  net_policy_add_nameservers(&policy, "/nonexistent/resolv.conf");
  CU_ASSERT(allows_datagram(&policy, "127.0.0.1", 53));
  CHECK_NUMBER(policy.rule_count, 2);
  net_policy_clear(&policy);
}

static void
test_lists_are_networks_between_commas(void)
{
  struct net_policy policy = {0};
  struct error *err = NULL;
  CHECK_NUMBER(net_policy_add_list(&policy, "10.0.0.0/24:443,fd00::1,10.1.0.7", NULL), 0);
  CU_ASSERT(allows(&policy, "10.0.0.9", 443) && allows(&policy, "fd00::1", 22));
  CU_ASSERT(allows(&policy, "10.1.0.7", 22));
  CHECK_NUMBER(policy.rule_count, 3);
  CHECK_NUMBER(net_policy_add_list(&policy, "10.0.0.1,,10.0.0.2", &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is not a network");
  net_policy_clear(&policy);
}

static void
test_policies_add_up(void)
{
  struct net_policy policy = {0}, more = {0};
  CHECK_NUMBER(net_policy_add_text(&policy, "10.0.0.1", NULL), 0);
  CHECK_NUMBER(net_policy_add_text(&more, "10.0.0.2", NULL), 0);
  net_policy_add_path(&more, "/x");
  net_policy_add_all(&policy, &more);
  net_policy_clear(&more);
  CU_ASSERT(allows(&policy, "10.0.0.1", 1) && allows(&policy, "10.0.0.2", 1));
  CU_ASSERT(allows_path(&policy, "/x", 3, false));
  net_policy_clear(&policy);
}

static void
test_addresses_are_shown_as_people_write_them(void)
{
  char text[NET_POLICY_TEXT_MAX];
  struct sockaddr_storage address;
  socklen_t len = parse("10.1.2.3", 443, &address);
  CHECK_STRING(net_policy_text((struct sockaddr *)&address, len, text), "10.1.2.3:443");
  len = parse("::ffff:10.1.2.3", 443, &address);
  CHECK_STRING(net_policy_text((struct sockaddr *)&address, len, text), "10.1.2.3:443");
  len = parse("fd00::1", 443, &address);
  CHECK_STRING(net_policy_text((struct sockaddr *)&address, len, text), "[fd00::1]:443");
  struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/x.sock"};
  CHECK_STRING(net_policy_text((struct sockaddr *)&un, sizeof(un), text), "/run/x.sock");
  un.sun_path[0] = '\0';
  CHECK_STRING(net_policy_text((struct sockaddr *)&un, sizeof(un), text),
               "an abstract unix socket");
  CHECK_STRING(net_policy_text((struct sockaddr *)&un, 1, text), "an address of another kind");
}

static void
test_what_passes_goes_and_the_rest_stays(void)
{
  struct net_policy policy = {0};
  REQUIRE(net_policy_add_text(&policy, "10.0.0.7:443", NULL) == 0);
  net_policy_add_passing(&policy);
  REQUIRE(net_policy_add_text(&policy, "fd00::1", NULL) == 0);
  CU_ASSERT_TRUE(allows(&policy, "192.168.1.1", 28384));
  CU_ASSERT_TRUE(allows(&policy, "2001:db8::1", 3300));
  CU_ASSERT_FALSE(allows_datagram(&policy, "192.168.1.1", 53));
  net_policy_drop_passing(&policy);
  CU_ASSERT_FALSE(allows(&policy, "192.168.1.1", 28384));
  CU_ASSERT_FALSE(allows(&policy, "2001:db8::1", 3300));
  CU_ASSERT_TRUE(allows(&policy, "10.0.0.7", 443));
  CU_ASSERT_TRUE(allows(&policy, "fd00::1", 1));
  net_policy_clear(&policy);
}

UNIT_MAIN("lib/sandbox/net_policy", UNIT_TEST(test_nothing_is_allowed_without_rules),
          UNIT_TEST(test_networks_have_edges), UNIT_TEST(test_what_is_no_network_is_refused),
          UNIT_TEST(test_public_means_nobodys_own),
          UNIT_TEST(test_hosts_count_whatever_their_own_port),
          UNIT_TEST(test_sockets_are_allowed_by_their_exact_path),
          UNIT_TEST(test_short_addresses_are_refused),
          UNIT_TEST(test_nameservers_come_from_the_file),
          UNIT_TEST(test_lists_are_networks_between_commas), UNIT_TEST(test_policies_add_up),
          UNIT_TEST(test_addresses_are_shown_as_people_write_them),
          UNIT_TEST(test_what_passes_goes_and_the_rest_stays))
