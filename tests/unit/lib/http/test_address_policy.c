/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/address_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/un.h>

#include "tests/unit/unit.h"

static const char *
refusal_of(const char *text)
{
  struct sockaddr_in ipv4 = {.sin_family = AF_INET};
  struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};
  if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1)
    return address_policy_refusal((const struct sockaddr *)&ipv4);
  REQUIRE(inet_pton(AF_INET6, text, &ipv6.sin6_addr) == 1);
  return address_policy_refusal((const struct sockaddr *)&ipv6);
}

static const char *const refused[] = {
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "169.254.169.254",
    "169.254.0.1",
    "224.0.0.1",
    "239.255.255.255",
    "255.255.255.255",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "::",
    "::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::169.254.169.254",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
};

static const char *const allowed[] = {
    "192.0.2.1",   "10.0.0.1",         "172.16.0.1",        "192.168.1.1",
    "1.1.1.1",     "128.0.0.1",        "126.0.0.1",         "169.253.255.255",
    "169.255.0.1", "100.100.100.201",  "223.0.0.1",         "2001:db8::1",
    "fd00::1",     "::ffff:192.0.2.1", "64:ff9b::c000:201", "2002:c000:201::1",
};

static void
test_local_addresses_are_refused(void)
{
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
    CHECK_ROW(refusal_of(refused[i]) != NULL, refused[i]);
    CHECK_ROW(address_policy_refusal_of_host(refused[i]) != NULL, refused[i]);
  }
}

static void
test_other_addresses_are_fine(void)
{
  for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
    CHECK_ROW(refusal_of(allowed[i]) == NULL, allowed[i]);
    CHECK_ROW(address_policy_refusal_of_host(allowed[i]) == NULL, allowed[i]);
  }
}

static void
test_other_families_are_refused(void)
{
  struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
  CU_ASSERT_PTR_NOT_NULL(address_policy_refusal((const struct sockaddr *)&local));
}

static void
test_names_of_this_machine_are_refused(void)
{
  static const char *const ours[] = {"localhost", "LocalHost", "localhost.", "a.localhost"};
  static const char *const others[] = {"example.com", "notlocalhost", "localhost.example.com",
                                       "localhos", ""};
  for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
    CHECK_ROW(address_policy_refusal_of_host(ours[i]) != NULL, ours[i]);
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
    CHECK_ROW(address_policy_refusal_of_host(others[i]) == NULL, others[i]);
}

UNIT_MAIN("lib/http/address_policy", UNIT_TEST(test_local_addresses_are_refused),
          UNIT_TEST(test_other_addresses_are_fine), UNIT_TEST(test_other_families_are_refused),
          UNIT_TEST(test_names_of_this_machine_are_refused))
