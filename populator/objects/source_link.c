/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/source_link.h"

#include <string.h>

#include "lib/base/memory.h"

static const struct form {
  const char *member;
  const struct kube_kind *kind;
} forms[] = {
    {"pvc", &kube_persistent_volume_claims},
    {"snapshot", &kube_volume_snapshots},
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

void
source_link_clear(struct source_link *link)
{
  free(link->ns);
  free(link->name);
  *link = (struct source_link){0};
}

void
source_link_copy(const struct source_link *link, struct source_link *ret_link)
{
  *ret_link = (struct source_link){link->kind, xstrdup(link->ns), xstrdup(link->name)};
}

bool
source_link_is_same(const struct source_link *a, const struct source_link *b)
{
  return a->kind == b->kind && a->kind && strcmp(a->ns, b->ns) == 0 &&
         strcmp(a->name, b->name) == 0;
}

bool
source_link_read(struct json_object *source, const char *default_ns, struct source_link *ret_link)
{
  for (size_t i = 0; i < FORMS; i++) {
    struct json_object *target = json_at(source, forms[i].member);
    const char *ns = json_text(target, "namespace");
    const char *name = json_text(target, "name");
    if (!name || !*name)
      continue;
    *ret_link =
        (struct source_link){forms[i].kind, xstrdup(ns && *ns ? ns : default_ns), xstrdup(name)};
    return true;
  }
  return false;
}

struct json_object *
source_link_json(const struct source_link *link)
{
  struct json_object *source = json_object_new_object();
  for (size_t i = 0; i < FORMS; i++) {
    if (forms[i].kind != link->kind)
      continue;
    json_put_text(source, link->ns, forms[i].member, "namespace");
    json_put_text(source, link->name, forms[i].member, "name");
  }
  return source;
}

char *
source_link_text(const struct source_link *link)
{
  return xasprintf("%s/%s/%s", link->kind->kind, link->ns, link->name);
}

bool
source_link_parse(const char *text, struct source_link *ret_link)
{
  const char *ns = text ? strchr(text, '/') : NULL;
  const char *name = ns ? strchr(ns + 1, '/') : NULL;
  if (!name || name == ns + 1 || !name[1] || strchr(name + 1, '/'))
    return false;
  for (size_t i = 0; i < FORMS; i++) {
    const char *kind = forms[i].kind->kind;
    if (strlen(kind) != (size_t)(ns - text) || strncmp(kind, text, strlen(kind)) != 0)
      continue;
    *ret_link = (struct source_link){forms[i].kind, xstrndup(ns + 1, (size_t)(name - ns - 1)),
                                     xstrdup(name + 1)};
    return true;
  }
  return false;
}
