/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/mapper_table.h"

#include <string.h>

#include "lib/base/memory.h"

#define REASON_MAX 160

const struct mapper *const mapper_table[] = {&krbd_mapper, &nbd_mapper, &fuse_mapper, NULL};

void
mapping_clear(struct mapping *mapping)
{
  free(mapping->device);
  *mapping = (struct mapping){0};
}

const struct mapper *
mapper_by_name(const char *name)
{
  for (const struct mapper *const *at = mapper_table; *at; at++) {
    if (strcmp((*at)->name, name) == 0)
      return *at;
  }
  return NULL;
}

/* Whether a mapper can serve an image; why not is added to `reasons`. */
static bool
can_serve(const struct mapper_env *env, const struct mapper *mapper, const struct mapper_wish *wish,
          char **reasons)
{
  char reason[REASON_MAX] = "";
  bool can = mapper->probe(env, reason, sizeof(reason));
  CLEANUP(freep) char *longer = NULL;
  if (can && (wish->features & ~mapper->features()) != 0) {
    can = false;
    longer = xasprintf("%s%s%s lacks the image's features 0x%llx", *reasons, **reasons ? "; " : "",
                       mapper->name, (unsigned long long)(wish->features & ~mapper->features()));
  } else if (!can) {
    longer = xasprintf("%s%sno %s: %s", *reasons, **reasons ? "; " : "", mapper->name, reason);
  }
  if (longer) {
    free(*reasons);
    *reasons = TAKE(longer);
  }
  return can;
}

static int
choose_named(const struct mapper_env *env, const struct mapper_wish *wish,
             const struct mapper **ret_mapper, char **ret_why, struct error **err)
{
  const struct mapper *mapper = mapper_by_name(wish->name);
  if (!mapper)
    return error_set(err, ERROR_INVALID_ARGUMENT, "no mapper '%.32s': auto, krbd, nbd or fuse",
                     wish->name);
  CLEANUP(freep) char *reasons = xstrdup("");
  if (!can_serve(env, mapper, wish, &reasons))
    return error_set(err, ERROR_FAILED_PRECONDITION, "mapper '%s' was asked for: %s", wish->name,
                     reasons);
  *ret_mapper = mapper;
  *ret_why = xstrdup("it was asked for");
  return 0;
}

/* Limits want librbd; without any mapper that has it, a volume without limits is better than none.
 */
static bool
is_second_choice(const struct mapper *mapper, const struct mapper_wish *wish)
{
  return wish->has_limits && mapper == &krbd_mapper;
}

static char *
explain(const struct mapper *mapper, const struct mapper_wish *wish, const char *reasons)
{
  if (wish->has_limits && mapper == &krbd_mapper)
    return xasprintf("nothing that enforces the image's limits is here: %s", reasons);
  if (wish->has_limits && mapper != &krbd_mapper)
    return xasprintf("it enforces the image's limits%s%s", *reasons ? "; " : "", reasons);
  return *reasons ? xstrdup(reasons) : xstrdup("the kernel has it and all of the image's features");
}

int
mapper_choose(const struct mapper_env *env, const struct mapper_wish *wish,
              const struct mapper **ret_mapper, char **ret_why, struct error **err)
{
  if (strcmp(wish->name, MAPPER_AUTO) != 0)
    return choose_named(env, wish, ret_mapper, ret_why, err);
  CLEANUP(freep) char *reasons = xstrdup("");
  const struct mapper *second = NULL;
  for (const struct mapper *const *at = mapper_table; *at; at++) {
    if (!can_serve(env, *at, wish, &reasons))
      continue;
    if (is_second_choice(*at, wish)) {
      second = *at;
      continue;
    }
    *ret_mapper = *at;
    *ret_why = explain(*at, wish, reasons);
    return 0;
  }
  if (!second)
    return error_set(err, ERROR_FAILED_PRECONDITION, "this node cannot map the image: %s", reasons);
  *ret_mapper = second;
  *ret_why = explain(second, wish, reasons);
  return 0;
}

bool
mapper_find(const struct mapper_env *env, const struct volume_id *id, struct mapping *ret_mapping)
{
  for (const struct mapper *const *at = mapper_table; *at; at++) {
    if ((*at)->find(env, id, ret_mapping))
      return true;
  }
  return false;
}

int
mapper_unmap(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
             struct error **err)
{
  for (const struct mapper *const *at = mapper_table; *at; at++) {
    if ((*at)->unmap(env, id, is_forced, err) < 0)
      return error_wrap(err, "%s", (*at)->name);
  }
  return 0;
}

static int
add_options(const struct mapper *mapper, bool is_unmap, const char *text, size_t len,
            struct option_list *options, struct error **err)
{
  CLEANUP(freep) char *part = xstrndup(text, len);
  CLEANUP(freep)
  char *what =
      xasprintf("%s of mapper %s:", is_unmap ? "unmapOptions" : "mapOptions", mapper->name);
  return option_list_add(options, is_unmap ? mapper->unmap_rules : mapper->map_rules, what, part,
                         err);
}

/* "krbd:a,b": the mapper that a part is for; NULL when it is for whichever. *text moves behind. */
static const struct mapper *
take_prefix(const char **text, size_t *len)
{
  for (const struct mapper *const *at = mapper_table; *at; at++) {
    size_t name_len = strlen((*at)->name);
    if (*len > name_len && strncmp(*text, (*at)->name, name_len) == 0 && (*text)[name_len] == ':') {
      *text += name_len + 1;
      *len -= name_len + 1;
      return *at;
    }
  }
  return NULL;
}

int
mapper_parse_options(const struct mapper *mapper, bool is_unmap, const char *text,
                     struct option_list *ret_options, struct error **err)
{
  struct option_list ours = {0}, others = {0};
  int r = 0;
  while (*text && r == 0) {
    size_t len = strcspn(text, ";");
    const char *part = text;
    text += len + (text[len] == ';');
    const struct mapper *owner = take_prefix(&part, &len);
    r = !owner || owner == mapper ? add_options(mapper, is_unmap, part, len, &ours, err)
                                  : add_options(owner, is_unmap, part, len, &others, err);
  }
  option_list_clear(&others);
  if (r < 0)
    option_list_clear(&ours);
  else
    *ret_options = ours;
  return r;
}
