/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/ceph_key.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

static void
test_keys_are_found_in_keyrings(void)
{
  static const char keyring[] = "# a comment\n[client.admin]\n\tkey = AQAD\n"
                                "[client.imprint]\n  caps mon = \"key = no\"\n  keyx = no\n"
                                " key=AQBC  \n[client.other]\nkey = AQEE";
  static const struct {
    const char *user, *key;
  } rows[] = {{"admin", "AQAD"}, {"imprint", "AQBC"}, {"other", "AQEE"}, {"imp", NULL}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    size_t len = 0;
    const char *found = ceph_key_find(keyring, rows[i].user, &len);
    CLEANUP(freep) char *copy = found ? xstrndup(found, len) : NULL;
    CHECK_STRING(copy, rows[i].key);
  }
}

static void
test_base64(void)
{
  static const struct {
    const char *text, *bytes;
  } rows[] = {{"Zm9v", "foo"},        {"Zm9vYg==", "foob"}, {"Zm9vYmE=", "fooba"},
              {"Zm9vYmFy", "foobar"}, {"Zm9", NULL},        {"", NULL},
              {"Zm9?", NULL},         {"=m9v", NULL},       {"Zm9vZm9vZm9v", NULL}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    uint8_t buf[6];
    size_t len = 0;
    int r = ceph_key_decode(rows[i].text, strlen(rows[i].text), buf, sizeof(buf), &len);
    CHECK_ROW(r == (rows[i].bytes ? 0 : -1), rows[i].text);
    if (r == 0 && rows[i].bytes)
      CHECK_ROW(len == strlen(rows[i].bytes) && memcmp(buf, rows[i].bytes, len) == 0, rows[i].text);
  }
}

UNIT_MAIN("nodeplugin/ceph_key", UNIT_TEST(test_keys_are_found_in_keyrings), UNIT_TEST(test_base64))
