/* SPDX-License-Identifier: Apache-2.0 */
/* Every value is our own or was checked to hold no quote, so nothing needs escaping. */
#include "populator/registry/oci_image.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/memory.h"

#define NAME_MAX_LEN 512
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

char *
oci_image_index(const struct oci_descriptor *manifest, const char *name)
{
  CLEANUP(freep) char *text = descriptor(manifest);
  CLEANUP(freep)
  char *annotation =
      name ? xasprintf(",\"annotations\":{\"org.opencontainers.image.ref.name\":\"%s\"}", name)
           : xstrdup("");
  return xasprintf("{\"schemaVersion\":2,\"mediaType\":\"" OCI_TYPE_INDEX "\",\"manifests\":["
                   "%.*s%s}]}",
                   (int)(strlen(text) - 1), text, annotation);
}

int
oci_image_check_name(const char *name, struct error **err)
{
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._:@/+";
  size_t len = strspn(name, allowed);
  if (len == 0 || name[len] != '\0' || len > NAME_MAX_LEN)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.80s' cannot name an image: it takes letters, digits, '-', '.', '_', ':', "
                     "'@', '/', '+'",
                     name);
  return 0;
}
