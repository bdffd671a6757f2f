/* SPDX-License-Identifier: Apache-2.0 */
/* A handle that is taken has one spelling: encoded again it is the same text. */
#include <string.h>

#include "csi/volume/volume_id.h"
#include "lib/base/memory.h"
#include "tests/fuzz/fuzz.h"

static void
try_volume(const char *text)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct volume_id id, again;
  if (volume_id_decode(text, &id, &err) < 0) {
    CHECK(err && err->code == ERROR_INVALID_ARGUMENT && strlen(err->message) < 256);
    return;
  }
  CHECK(!err);
  CLEANUP(freep) char *encoded = volume_id_encode(&id);
  CHECK(strcmp(encoded, text) == 0);
  CHECK(volume_id_decode(encoded, &again, NULL) == 0 && volume_id_equal(&id, &again));
}

static void
try_snapshot(const char *text)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct snapshot_id id;
  if (snapshot_id_decode(text, &id, &err) < 0) {
    CHECK(err && err->code == ERROR_INVALID_ARGUMENT && strlen(err->message) < 256);
    return;
  }
  CHECK(volume_id_decode(text, &id.volume, NULL) < 0); /* it is one or the other */
  CLEANUP(freep) char *encoded = snapshot_id_encode(&id);
  CHECK(strcmp(encoded, text) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(freep) char *text = xstrndup((const char *)data, size);
  try_volume(text);
  try_snapshot(text);
  return 0;
}
