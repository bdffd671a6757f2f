/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/node_id.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define TEN "0123456789"
#define NINETY TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void
test_names_are_written_and_read_alike(void)
{
  static const char *const names[] = {"n", "worker-1", "ip-10-0-0-1.ec2.internal",
                                      NINETY NINETY "1234"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    CLEANUP(freep) char *id = node_id_encode(names[i]);
    CU_ASSERT(strlen(id) <= 192); /* CSI allows no more */
    const char *name = NULL;
    CHECK_ROW(node_id_decode(id, &name, NULL) == 0, names[i]);
    CHECK_STRING(name, names[i]);
    CU_ASSERT_PTR_EQUAL(name, id + strlen("imprint:"));
  }
}

static void
test_other_ids_are_not_found(void)
{
  static const char *const ids[] = {"",
                                    "n",
                                    "imprint",
                                    "imprint:",
                                    "Imprint:n",
                                    "imprint:-n",
                                    "imprint:a/b",
                                    "imprint:a b",
                                    "imprint:imprint:n",
                                    " imprint:n",
                                    "some-fake-node-id",
                                    "imprint:" NINETY NINETY "12345"};
  for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    const char *name = "untouched";
    CHECK_ROW(node_id_decode(ids[i], &name, &err) == -1, ids[i]);
    CHECK_STRING(name, "untouched");
    CLEANUP(freep) char *message = xasprintf("no node '%.64s'", ids[i]);
    CHECK_ERROR(&err, ERROR_NOT_FOUND, message);
  }
}

UNIT_MAIN("csi/volume/node_id", UNIT_TEST(test_names_are_written_and_read_alike),
          UNIT_TEST(test_other_ids_are_not_found))
