/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/daemons.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

/* All addresses as "a:port b:port", to be freed. */
static char *
text_of(const struct daemons *daemons)
{
  char *text = xstrdup("");
  for (size_t i = 0; i < daemons->count; i++) {
    const struct sockaddr_storage *address = &daemons->addresses[i];
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)address;
    char host[INET6_ADDRSTRLEN];
    bool is_ipv6 = address->ss_family == AF_INET6;
    (void)inet_ntop(address->ss_family, is_ipv6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr,
                    host, sizeof(host));
    char *longer = xasprintf("%s%s%s:%u", text, i ? " " : "", host,
                             (unsigned)ntohs(is_ipv6 ? in6->sin6_port : in->sin_port));
    free(text);
    text = longer;
  }
  return text;
}

static void
test_mon_host_is_read_in_all_its_forms(void)
{
  static const struct {
    const char *mon_host;
    const char *addresses;
  } rows[] = {
      {"", ""},
      {"10.0.0.1", "10.0.0.1:0"},
      {"10.0.0.1,10.0.0.2:6789", "10.0.0.1:0 10.0.0.2:6789"},
      {"10.0.0.1; 10.0.0.2\t10.0.0.3 ", "10.0.0.1:0 10.0.0.2:0 10.0.0.3:0"},
      {"10.0.0.1:6789/0", "10.0.0.1:6789"},
      {"[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0]", "10.0.0.1:3300 10.0.0.1:6789"},
      {"[v2:10.0.0.1:3300,v1:10.0.0.1:6789] [v2:10.0.0.2:3300]",
       "10.0.0.1:3300 10.0.0.1:6789 10.0.0.2:3300"},
      {"v2:10.0.0.1:3300", "10.0.0.1:3300"},
      {"any:10.0.0.1:3300", "10.0.0.1:3300"},
      {"fd00::1", "fd00::1:0"},
      {"[fd00::1]", "fd00::1:0"},
      {"[fd00::1]:6789", "fd00::1:6789"},
      {"[v2:[fd00::1]:3300/0,v1:[fd00::1]:6789/0]", "fd00::1:3300 fd00::1:6789"},
      {"10.0.0.1,10.0.0.1", "10.0.0.1:0"},
      {"[],[v1:],:6789,/,10.0.0.1:x", ""},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct daemons daemons = {0};
    daemons_add_mon_host(&daemons, rows[i].mon_host);
    CLEANUP(freep) char *text = text_of(&daemons);
    CHECK_STRING(text, rows[i].addresses);
    daemons_clear(&daemons);
  }
}

static void
test_maps_name_public_addresses(void)
{
  static const char monitors[] =
      "{\"mons\":[{\"public_addrs\":{\"addrvec\":[{\"type\":\"v2\",\"addr\":\"10.0.0.1:3300\"},"
      "{\"type\":\"v1\",\"addr\":\"10.0.0.1:6789\"}]},\"addr\":\"10.9.9.9:1/0\"}]}";
  static const char osds[] =
      "{\"osds\":[{\"osd\":0,\"public_addrs\":{\"addrvec\":[{\"addr\":\"[fd00::2]:6800\"}]},"
      "\"cluster_addrs\":{\"addrvec\":[{\"addr\":\"10.8.8.8:6800\"}]}},"
      "{\"osd\":1,\"public_addrs\":{\"addrvec\":[{\"addr\":\"0.0.0.0:0\"},{\"addr\":\":/0\"}]}},"
      "{\"osd\":2},7,{\"public_addrs\":{\"addrvec\":7}}]}";
  struct daemons daemons = {0};
  CHECK_NUMBER(daemons_add_map(&daemons, monitors, NULL), 0);
  CHECK_NUMBER(daemons_add_map(&daemons, osds, NULL), 0);
  CLEANUP(freep) char *text = text_of(&daemons);
  CHECK_STRING(text, "10.0.0.1:3300 10.0.0.1:6789 fd00::2:6800");
  struct error *err = NULL;
  CHECK_NUMBER(daemons_add_map(&daemons, "nonsense", &err), -1);
  CHECK_ERROR(&err, ERROR_INTERNAL, "not JSON");
  daemons_clear(&daemons);
}

static void
test_configuration_names_monitors_and_ports(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *conf = temp_dir_path(dir, "ceph.conf");
  temp_dir_write(dir, "ceph.conf",
                 "[global]\nmon host = [v2:10.0.0.1:3300,v1:10.0.0.1:6789]\n"
                 "ms bind port min = 5000\nms bind port max = 9000\n");
  struct daemons daemons = {0};
  struct cluster_config config = {.conf_file = conf};
  REQUIRE(daemons_of_config(&config, &daemons, NULL, NULL) == 0);
  CLEANUP(freep) char *text = text_of(&daemons);
  CHECK_STRING(text, "10.0.0.1:3300 10.0.0.1:6789");
  CHECK_NUMBER(daemons.first_port, 5000);
  CHECK_NUMBER(daemons.last_port, 9000);
  daemons_clear(&daemons);

  char monitors[] = "10.0.0.7";
  config = (struct cluster_config){.monitors = monitors};
  REQUIRE(daemons_of_config(&config, &daemons, NULL, NULL) == 0);
  CHECK_NUMBER(daemons.count, 1);
  CHECK_NUMBER(daemons.first_port, 6800);
  CHECK_NUMBER(daemons.last_port, 7568);
  daemons_clear(&daemons);

  /* Where a key is looked for: what the configuration says, else what Ceph does by itself. */
  char user[] = "imprint", keyring[] = "/k/keyring", key_file[] = "/k/file";
  char *files = NULL;
  config = (struct cluster_config){.conf_file = conf, .user = user};
  REQUIRE(daemons_of_config(&config, &daemons, &files, NULL) == 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(files, "/etc/ceph/ceph.client.imprint.keyring,"));
  daemons_clear(&daemons);
  free(files);
  config = (struct cluster_config){.conf_file = conf, .keyring = keyring, .key_file = key_file};
  REQUIRE(daemons_of_config(&config, &daemons, &files, NULL) == 0);
  CHECK_STRING(files, "/k/keyring,/k/file");
  daemons_clear(&daemons);
  free(files);

  char missing[] = "/nonexistent/ceph.conf";
  struct error *err = NULL;
  config = (struct cluster_config){.conf_file = missing};
  CHECK_NUMBER(daemons_of_config(&config, &daemons, NULL, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "read confFile '/nonexistent/ceph.conf'");
}

UNIT_MAIN("lib/ceph/daemons", UNIT_TEST(test_mon_host_is_read_in_all_its_forms),
          UNIT_TEST(test_maps_name_public_addresses),
          UNIT_TEST(test_configuration_names_monitors_and_ports))
