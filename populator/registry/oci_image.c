/* SPDX-License-Identifier: Apache-2.0 */
/* Every value is our own or was checked to hold no quote, so nothing needs escaping. */
#include "populator/registry/oci_image.h"

#include <inttypes.h>

#include "lib/base/memory.h"

#define CREATED "1970-01-01T00:00:00Z"

char *
oci_image_config(const struct oci_platform *platform, const char *diff_id)
{
  CLEANUP(freep)
  char *variant =
      platform->variant ? xasprintf(",\"variant\":\"%s\"", platform->variant) : xstrdup("");
  return xasprintf("{\"created\":\"" CREATED "\",\"architecture\":\"%s\"%s,\"os\":\"linux\","
                   "\"config\":{},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"%s\"]},"
                   "\"history\":[{\"created\":\"" CREATED "\",\"created_by\":\"imprint push\"}]}",
                   platform->architecture, variant, diff_id);
}

static char *
descriptor(const struct oci_descriptor *blob)
{
  return xasprintf("{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%" PRIu64 "}",
                   blob->media_type, blob->digest, blob->size);
}

char *
oci_image_manifest(const struct oci_descriptor *config, const struct oci_descriptor *layer)
{
  CLEANUP(freep) char *config_text = descriptor(config);
  CLEANUP(freep) char *layer_text = descriptor(layer);
  return xasprintf("{\"schemaVersion\":2,\"mediaType\":\"" OCI_TYPE_MANIFEST "\",\"config\":%s,"
                   "\"layers\":[%s]}",
                   config_text, layer_text);
}
