/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/image_name.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/digest.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

/* krbd takes image names up to 96 bytes; the rest is for our prefix. */
#define READABLE_MAX 80

static char *
derive(const char *prefix, const char *request_name)
{
  if (text_is_plain_name(request_name, READABLE_MAX))
    return xasprintf("%s.%s", prefix, request_name);
  char hash[DIGEST_SHA256_HEX];
  digest_sha256_hex(request_name, strlen(request_name), hash);
  return xasprintf("%s-sha256.%s", prefix, hash);
}

char *
image_name_of_volume(const char *request_name)
{
  return derive(IMAGE_NAME_VOLUME_PREFIX, request_name);
}

char *
image_name_of_deleted(const char *image_id)
{
  return xasprintf(IMAGE_NAME_DELETED_PREFIX "%s", image_id);
}

char *
image_name_of_snapshot(const char *request_name)
{
  return derive(IMAGE_NAME_SNAPSHOT_PREFIX, request_name);
}

char *
image_name_of_passing(uint64_t client_id, uint64_t number)
{
  return xasprintf(IMAGE_NAME_PASSING_PREFIX "%" PRIu64 ".%" PRIu64, client_id, number);
}

bool
image_name_passing_client(const char *snap_name, uint64_t *ret_client_id)
{
  if (!text_starts_with(snap_name, IMAGE_NAME_PASSING_PREFIX))
    return false;
  const char *client = snap_name + strlen(IMAGE_NAME_PASSING_PREFIX);
  CLEANUP(freep) char *digits = xstrndup(client, strcspn(client, "."));
  return text_to_u64(digits, 10, ret_client_id) == 0;
}

char *
image_name_of_claim(const char *snap_name)
{
  return xasprintf("imprint.claim.%s", snap_name);
}
