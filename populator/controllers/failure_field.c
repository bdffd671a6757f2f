/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/controllers/failure_field.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

/* How workers begin: with the command, which touches nothing but the source when it looks. */
static const char inspecting[] = "inspect: ";
static const char checksum[] = ": checksum of the source is ";

/* "http" of {"http": …}. */
static const char *
source_of(const struct kube_object *object)
{
  struct json_object *source = json_at(object->json, "spec", "source");
  if (!json_object_is_type(source, json_type_object))
    return NULL;
  json_object_object_foreach(source, name, value)
  {
    if (value)
      return name;
  }
  return NULL;
}

char *
failure_field_tell(const struct kube_object *object, const char *checksum_field,
                   const char *message)
{
  const char *source = source_of(object);
  const char *differs = strstr(message, checksum);
  if (differs)
    return xasprintf("%s%s", checksum_field, differs);
  if (source && text_starts_with(message, inspecting))
    return xasprintf("spec.source.%s: %s", source, message + strlen(inspecting));
  return xstrdup(message);
}
