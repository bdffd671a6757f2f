/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its first bytes: always something, the same for the same bytes, and never
 * more than the bytes show. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "populator/format/probe.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  /* of exactly this length, so that AddressSanitizer sees a read behind it */
  CLEANUP(freep) char *bytes = xcalloc(1, size ? size : 1);
  struct probe probe = {.format = PROBE_UNSUPPORTED + 1}, again;
  memcpy(bytes, data, size);
  probe_bytes(bytes, size, &probe);
  CHECK(probe.format <= PROBE_UNSUPPORTED && probe.name);
  CHECK(!probe.detail || probe.format == PROBE_RAW);
  probe_bytes(bytes, size, &again);
  CHECK(probe.format == again.format && probe.name == again.name && probe.detail == again.detail);
  if (size >= PROBE_FOOTER_BYTES &&
      probe_is_vhd_footer(bytes + size - PROBE_FOOTER_BYTES, PROBE_FOOTER_BYTES))
    CHECK(memcmp(bytes + size - PROBE_FOOTER_BYTES, "conectix", 8) == 0);
  return 0;
}
