/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_trust.h"

#include <string.h>

#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static void
test_a_bundle_stands_beside_the_systems(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "ca.pem", "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----");
  CLEANUP(freep) char *path = temp_dir_path(dir, "ca.pem");
  struct buffer pem = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  REQUIRE(http_trust_load(path, &pem, &err) == 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(pem.data, "\nours\n-----END CERTIFICATE-----\n"));
  CU_ASSERT(pem.len > strlen("-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----\n"));
  buffer_clear(&pem);
}

static void
test_a_bundle_that_is_none_is_refused(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "ca.pem", "not a certificate");
  CLEANUP(freep) char *path = temp_dir_path(dir, "ca.pem");
  CLEANUP(freep) char *missing = temp_dir_path(dir, "missing.pem");
  struct buffer pem = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(http_trust_load(path, &pem, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "holds no PEM certificate");
  CHECK_NUMBER(http_trust_load(missing, &pem, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "missing.pem");
  CHECK_NUMBER(pem.len, 0);
}

UNIT_MAIN("lib/http/http_trust", UNIT_TEST(test_a_bundle_stands_beside_the_systems),
          UNIT_TEST(test_a_bundle_that_is_none_is_refused))
