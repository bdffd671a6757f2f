/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/rpc/status.h"

#include "tests/unit/unit.h"

static void
test_codes_go_there_and_back(void)
{
  for (int code = ERROR_CANCELLED; code <= ERROR_UNAUTHENTICATED; code++) {
    const struct error err = {.code = (enum error_code)code};
    grpc_status_code status = status_of_error(&err);
    CHECK_NUMBER(status, code);
    CHECK_NUMBER(status_to_error_code(status), code);
  }
}

static void
test_an_unheard_of_status_is_unknown(void)
{
  static const int statuses[] = {GRPC_STATUS_OK, -1, 17, 1000, GRPC_STATUS__DO_NOT_USE};
  for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
    CHECK_NUMBER(status_to_error_code((grpc_status_code)statuses[i]), ERROR_UNKNOWN);
}

UNIT_MAIN("csi/rpc/status", UNIT_TEST(test_codes_go_there_and_back),
          UNIT_TEST(test_an_unheard_of_status_is_unknown))
