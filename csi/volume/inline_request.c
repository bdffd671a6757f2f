/* SPDX-License-Identifier: Apache-2.0 */
#include "csi/volume/inline_request.h"

#include <string.h>

#include "csi/volume/record.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define KUBERNETES_PREFIX "csi.storage.k8s.io/"
#define OWNER_LABEL "imprint.label.pvc/namespace"

static const char *const names[] = {"clusterID", "image", "snapshotHandle", "size", "mapper", NULL};

const char *const *
inline_attribute_names(void)
{
  return names;
}

bool
inline_request_is_one(const struct string_map *context)
{
  const char *said = string_map_get(context, KUBERNETES_PREFIX "ephemeral");
  return said && strcmp(said, "true") == 0;
}

static int
check_names(const struct string_map *context, struct error **err)
{
  for (size_t i = 0; i < context->count; i++) {
    const char *key = context->entries[i].key;
    bool is_known = text_starts_with(key, KUBERNETES_PREFIX);
    for (const char *const *name = names; *name && !is_known; name++)
      is_known = strcmp(key, *name) == 0;
    if (!is_known)
      return error_set(err, ERROR_INVALID_ARGUMENT, "volumeAttributes: '%.64s' is not known", key);
  }
  return 0;
}

static const char *
value_of(const struct string_map *context, const char *name)
{
  const char *value = string_map_get(context, name);
  return value ? value : "";
}

/* "pool/image@snapshot" or "pool/namespace/image@snapshot", as rbd itself writes it. */
static int
parse_image(const char *text, struct inline_request *request, struct error **err)
{
  enum { PARTS_MAX = 3 };
  CLEANUP(freep) char *copy = xstrdup(text);
  char *parts[PARTS_MAX], *rest = copy;
  size_t count = 0;
  char *snapshot = strchr(copy, '@');
  if (snapshot)
    *snapshot++ = '\0';
  while (rest && count < PARTS_MAX)
    parts[count++] = strsep(&rest, "/");
  bool is_good = !rest && count > 1 && snapshot && *snapshot && !strpbrk(snapshot, "@/");
  for (size_t i = 0; i < count; i++)
    is_good = is_good && *parts[i];
  if (!is_good)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeAttributes: 'image' is pool/image@snapshot or "
                     "pool/namespace/image@snapshot, not '%.128s'",
                     text);
  request->pool = xstrdup(parts[0]);
  request->name_space = xstrdup(count == PARTS_MAX ? parts[1] : "");
  request->image = xstrdup(parts[count - 1]);
  request->snapshot = xstrdup(snapshot);
  return 0;
}

int
inline_request_parse(const struct string_map *context, struct inline_request *ret_request,
                     struct error **err)
{
  const char *image = value_of(context, "image");
  const char *size = value_of(context, "size");
  struct inline_request request = {
      .cluster_id = value_of(context, "clusterID"),
      .snapshot_handle = value_of(context, "snapshotHandle"),
      .mapper = value_of(context, "mapper"),
      .pod_namespace = value_of(context, KUBERNETES_PREFIX "pod.namespace"),
      .pod_name = value_of(context, KUBERNETES_PREFIX "pod.name"),
  };
  if (check_names(context, err) < 0)
    return -1;
  if (!*image == !*request.snapshot_handle)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeAttributes: either 'image' or 'snapshotHandle' is needed");
  if (*size && (text_to_bytes(size, &request.size_bytes) < 0 || request.size_bytes == 0))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "volumeAttributes: 'size' is a number of bytes or like '10Gi', not '%.64s'",
                     size);
  if (!*request.pod_namespace)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "kubelet does not say whose pod it is: the CSIDriver needs podInfoOnMount");
  if (*image && parse_image(image, &request, err) < 0)
    return -1;
  *ret_request = request;
  return 0;
}

void
inline_request_clear(struct inline_request *request)
{
  free(request->pool);
  free(request->name_space);
  free(request->image);
  free(request->snapshot);
  *request = (struct inline_request){0};
}

bool
inline_request_is_allowed(const char *pod_namespace, const char *image_id,
                          const struct string_map *metadata)
{
  const char *owner = string_map_get(metadata, OWNER_LABEL);
  const char *list = string_map_get(metadata, INLINE_NAMESPACES_KEY);
  /* A clone has its parent's labels until its own record is written. */
  if (owner && record_is_ready(metadata, image_id) && strcmp(owner, pod_namespace) == 0)
    return true;
  size_t wanted = strlen(pod_namespace);
  while (list && *list) {
    size_t length = strcspn(list, ",");
    if ((length == 1 && *list == '*') ||
        (length == wanted && wanted > 0 && memcmp(list, pod_namespace, length) == 0))
      return true;
    list += length + (list[length] == ',');
  }
  return false;
}
