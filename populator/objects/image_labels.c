/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/image_labels.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define PREFIX "instancetype.kubevirt.io/default-"
#define ENV_MARK "_KUBEVIRT_IO_"
#define VALUE_BYTES_MAX 63
#define NAME_BYTES_MAX 63

bool
image_labels_add(struct json_object *from, struct json_object *labels)
{
  bool has_some = false;
  if (!json_object_is_type(from, json_type_object))
    return false;
  json_object_object_foreach(from, name, value)
  {
    if (!text_starts_with(name, PREFIX) || !json_object_is_type(value, json_type_string))
      continue;
    json_object_object_add(labels, name, json_object_new_string(json_object_get_string(value)));
    has_some = true;
  }
  return has_some;
}

bool
image_labels_copy(const struct kube_object *object, struct json_object *labels)
{
  return image_labels_add(json_at(object->json, "metadata", "labels"), labels);
}

/* As the API server would: empty, or plain with a letter or digit at both ends. */
static bool
is_label_value(const char *text)
{
  size_t len = strlen(text);
  return len == 0 ||
         (text_is_plain_name(text, VALUE_BYTES_MAX) && isalnum((unsigned char)text[len - 1]));
}

static void
lower(char *text, char from, char to)
{
  for (; *text; text++)
    *text = *text == from ? to : (char)tolower((unsigned char)*text);
}

/* NULL when the variable is none of these. To be freed. */
static char *
label_name(const char *variable)
{
  const char *mark = strstr(variable, ENV_MARK);
  if (!mark || mark == variable || strlen(mark + strlen(ENV_MARK)) > NAME_BYTES_MAX)
    return NULL;
  CLEANUP(freep) char *group = xstrndup(variable, (size_t)(mark - variable));
  CLEANUP(freep) char *name = xstrdup(mark + strlen(ENV_MARK));
  lower(group, '_', '.');
  lower(name, '_', '-');
  if (!text_is_plain_name(group, NAME_BYTES_MAX) || !text_is_plain_name(name, NAME_BYTES_MAX))
    return NULL;
  return xasprintf("%s.kubevirt.io/%s", group, name);
}

void
image_labels_of_env(struct json_object *env, struct json_object *labels)
{
  if (!json_object_is_type(env, json_type_object))
    return;
  json_object_object_foreach(env, variable, value)
  {
    CLEANUP(freep) char *name = label_name(variable);
    const char *text = json_object_get_string(value);
    if (name && text && is_label_value(text))
      json_object_object_add(labels, name, json_object_new_string(text));
  }
}
