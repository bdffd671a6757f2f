/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/option_list.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"

/* More than any filesystem or mapper has. */
#define OPTIONS_MAX 64
#define VALUE_MAX 256

static bool
is_plain_value(const char *value)
{
  size_t len = strlen(value);
  return len > 0 && len <= VALUE_MAX &&
         strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:+-") ==
             len;
}

static const struct option_rule *
find_rule(const struct option_rule *rules, const char *name)
{
  for (; rules->name; rules++) {
    if (strcmp(rules->name, name) == 0)
      return rules;
  }
  return NULL;
}

/* A number has many spellings: "0", "00", "0x0". */
static bool
is_same_value(const char *a, const char *b)
{
  char *a_end, *b_end;
  unsigned long long a_number = strtoull(a, &a_end, 0), b_number = strtoull(b, &b_end, 0);
  return strcmp(a, b) == 0 || (!*a_end && !*b_end && a_number == b_number);
}

static int
check(const struct option_rule *rules, const char *what, const char *name, const char *value,
      struct error **err)
{
  const struct option_rule *rule = find_rule(rules, name);
  if (!rule)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s '%.64s' is not allowed", what, name);
  if (!value && rule->value == OPTION_VALUE)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s '%s' needs a value", what, name);
  if (value && rule->value == OPTION_FLAG)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s '%s' takes no value", what, name);
  if (value && (!is_plain_value(value) || (rule->refused && is_same_value(value, rule->refused))))
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s '%s': the value '%.64s' is not allowed", what,
                     name, value);
  return 0;
}

static void
put(struct option_list *list, const char *name, const char *value)
{
  for (size_t i = 0; i < list->count; i++) { /* the last one counts, as with mount(8) */
    if (strcmp(list->items[i].name, name) == 0) {
      free(list->items[i].value);
      list->items[i].value = xstrdup(value);
      return;
    }
  }
  list->items = xrealloc(list->items, list->count + 1, sizeof(list->items[0]));
  list->items[list->count++] = (struct option_item){.name = xstrdup(name), .value = xstrdup(value)};
}

int
option_list_add(struct option_list *list, const struct option_rule *rules, const char *what,
                const char *text, struct error **err)
{
  while (*text) {
    size_t len = strcspn(text, ",");
    CLEANUP(freep) char *name = xstrndup(text, len);
    text += len + (text[len] == ',');
    if (len == 0)
      continue;
    char *value = strchr(name, '=');
    if (value)
      *value++ = '\0';
    if (check(rules, what, name, value, err) < 0)
      return -1;
    if (list->count == OPTIONS_MAX)
      return error_set(err, ERROR_INVALID_ARGUMENT, "more than %d of %s", OPTIONS_MAX, what);
    put(list, name, value);
  }
  return 0;
}

const struct option_item *
option_list_find(const struct option_list *list, const char *name)
{
  for (size_t i = 0; i < list->count; i++) {
    if (strcmp(list->items[i].name, name) == 0)
      return &list->items[i];
  }
  return NULL;
}

void
option_list_clear(struct option_list *list)
{
  for (size_t i = 0; i < list->count; i++) {
    free(list->items[i].name);
    free(list->items[i].value);
  }
  free(list->items);
  *list = (struct option_list){0};
}
