/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/image_name.h"

#include <string.h>

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
image_name_of_inline(const char *kubelet_id)
{
  return derive(IMAGE_NAME_INLINE_PREFIX, kubelet_id);
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
image_name_of_claim(const char *snap_name)
{
  return xasprintf("imprint.claim.%s", snap_name);
}
