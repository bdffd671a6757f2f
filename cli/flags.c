/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flags.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/base/strict_json.h"
#include "lib/base/text.h"

/* Where the help of a flag begins. */
#define HELP_COLUMN 28

DEFINE_CLEANUP(struct json_object *, json_object_put)
DEFINE_CLEANUP(struct json_tokener *, json_tokener_free)

static const struct flag *
find(const struct flag_set *const *sets, const char *name, size_t len)
{
  for (size_t s = 0; sets[s]; s++) {
    for (size_t i = 0; i < sets[s]->count; i++) {
      const struct flag *flag = &sets[s]->flags[i];
      if (strlen(flag->name) == len && strncmp(flag->name, name, len) == 0)
        return flag;
    }
  }
  return NULL;
}

static void
add_to_list(struct flag_list *list, const char *text)
{
  list->items = xrealloc(list->items, list->count + 2, sizeof(char *));
  list->items[list->count++] = text;
  list->items[list->count] = NULL;
}

static int
set_switch(const struct flag *flag, const char *text, struct error **err)
{
  if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--%s is a switch: true or false, not '%.64s'",
                     flag->name, text);
  *(bool *)flag->value = !text || strcmp(text, "true") == 0;
  return 0;
}

/* text is NULL for a switch that stands alone. */
static int
set_value(const struct flag *flag, const char *text, struct error **err)
{
  if (flag->kind == FLAG_SWITCH)
    return set_switch(flag, text, err);
  if (!text)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--%s needs %s", flag->name, flag->argument);
  switch (flag->kind) {
  case FLAG_TEXT:
  case FLAG_SECRET:
    *(const char **)flag->value = text;
    return 0;
  case FLAG_LIST:
    add_to_list(flag->value, text);
    return 0;
  case FLAG_NUMBER:
    if (text_to_u64(text, 10, flag->value) < 0)
      return error_set(err, ERROR_INVALID_ARGUMENT, "--%s: a whole number is needed, not '%.64s'",
                       flag->name, text);
    return 0;
  default:
    if (text_to_bytes(text, flag->value) < 0)
      return error_set(err, ERROR_INVALID_ARGUMENT, "--%s: a size like 20Gi is needed, not '%.64s'",
                       flag->name, text);
    return 0;
  }
}

static int
parse_flag(const struct flag_set *const *sets, int argc, char **argv, int *at, struct error **err)
{
  const char *name = argv[*at] + 2;
  size_t len = strcspn(name, "=");
  const struct flag *flag = find(sets, name, len);
  if (!flag)
    return error_set(err, ERROR_INVALID_ARGUMENT, "there is no flag --%.*s: try --help",
                     len > 64 ? 64 : (int)len, name);
  if (flag->kind == FLAG_SECRET)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--%s would show on the command line: set %s in the environment", flag->name,
                     flag->variable ? flag->variable : "it in a job");
  const char *text = name[len] == '=' ? name + len + 1 : NULL;
  if (!text && flag->kind != FLAG_SWITCH && *at + 1 < argc)
    text = argv[++*at];
  return set_value(flag, text, err);
}

static int
read_environment(const struct flag_set *const *sets, struct error **err)
{
  for (size_t s = 0; sets[s]; s++) {
    for (size_t i = 0; i < sets[s]->count; i++) {
      const struct flag *flag = &sets[s]->flags[i];
      const char *text = flag->variable ? getenv(flag->variable) : NULL;
      if (text && *text && set_value(flag, text, err) < 0)
        return error_wrap(err, "environment variable %s", flag->variable);
    }
  }
  return 0;
}

int
flags_parse(const struct flag_set *const *sets, int argc, char **argv,
            struct arguments *ret_arguments, struct error **err)
{
  struct arguments arguments = {.items = xcalloc((size_t)argc + 1, sizeof(char *))};
  int r = read_environment(sets, err);
  bool are_flags_over = false;
  for (int at = 0; r == 0 && at < argc; at++) {
    if (!are_flags_over && strcmp(argv[at], "--") == 0)
      are_flags_over = true;
    else if (!are_flags_over && text_starts_with(argv[at], "--"))
      r = parse_flag(sets, argc, argv, &at, err);
    else
      arguments.items[arguments.count++] = argv[at];
  }
  if (r < 0) {
    free(arguments.items);
    return -1;
  }
  *ret_arguments = arguments;
  return 0;
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static int
set_json_value(const struct flag *flag, struct json_object *value, struct error **err)
{
  if (flag->kind != FLAG_LIST || !json_object_is_type(value, json_type_array))
    return set_value(flag, xstrdup(json_object_get_string(value)), err);
  for (size_t i = 0; i < json_object_array_length(value); i++) {
    struct json_object *item = json_object_array_get_idx(value, i);
    if (set_value(flag, xstrdup(json_object_get_string(item)), err) < 0)
      return -1;
  }
  return 0;
}

static int
read_json_arguments(struct json_object *list, struct arguments *arguments, struct error **err)
{
  if (!json_object_is_type(list, json_type_array))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'arguments' is not a list");
  size_t count = json_object_array_length(list);
  arguments->items = xrealloc(arguments->items, count + 1, sizeof(char *));
  for (size_t i = 0; i < count; i++)
    arguments->items[arguments->count++] =
        xstrdup(json_object_get_string(json_object_array_get_idx(list, i)));
  return 0;
}

static int
read_json(const struct flag_set *const *sets, struct json_object *root, struct arguments *arguments,
          struct error **err)
{
  if (!json_object_is_type(root, json_type_object))
    return error_set(err, ERROR_INVALID_ARGUMENT, "a job is a JSON object");
  json_object_object_foreach(root, key, value)
  {
    if (strcmp(key, "arguments") == 0) {
      if (read_json_arguments(value, arguments, err) < 0)
        return -1;
      continue;
    }
    const struct flag *flag = find(sets, key, strlen(key));
    if (!flag)
      return error_set(err, ERROR_INVALID_ARGUMENT, "there is no flag '%.64s'", key);
    if (set_json_value(flag, value, err) < 0)
      return -1;
  }
  return 0;
}

int
flags_parse_json(const struct flag_set *const *sets, const char *json, size_t len,
                 struct arguments *ret_arguments, struct error **err)
{
  CLEANUP(json_tokener_freep) struct json_tokener *tokener = json_tokener_new();
  json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  CLEANUP(json_object_putp)
  struct json_object *root = json_tokener_parse_ex(tokener, json, (int)len);
  if (!root)
    return error_set(err, ERROR_INVALID_ARGUMENT, "the job is not valid JSON: %s",
                     json_tokener_error_desc(json_tokener_get_error(tokener)));
  if (strict_json_check(json, len, root, err) < 0)
    return -1;
  struct arguments arguments = {.items = xcalloc(1, sizeof(char *))};
  if (read_json(sets, root, &arguments, err) < 0) {
    free(arguments.items);
    return -1;
  }
  *ret_arguments = arguments;
  return 0;
}

void
flags_clear(const struct flag_set *const *sets)
{
  for (size_t s = 0; sets[s]; s++) {
    for (size_t i = 0; i < sets[s]->count; i++) {
      const struct flag *flag = &sets[s]->flags[i];
      if (flag->kind != FLAG_LIST)
        continue;
      struct flag_list *list = flag->value;
      free(list->items);
      *list = (struct flag_list){0};
    }
  }
}

/* ---- help --------------------------------------------------------------------------------------
 */

/* Secrets are not flags that can be typed. */
static void
print_secrets(FILE *out, const struct flag_set *const *sets)
{
  for (size_t s = 0; sets[s]; s++) {
    for (size_t i = 0; i < sets[s]->count; i++) {
      const struct flag *flag = &sets[s]->flags[i];
      if (flag->kind == FLAG_SECRET && flag->variable)
        (void)fprintf(out, "  $%-*s%s\n", HELP_COLUMN - 3, flag->variable, flag->help);
    }
  }
}

void
flags_print_help(FILE *out, const struct flag_set *const *sets)
{
  for (size_t s = 0; sets[s]; s++) {
    for (size_t i = 0; i < sets[s]->count; i++) {
      const struct flag *flag = &sets[s]->flags[i];
      if (flag->kind == FLAG_SECRET)
        continue; /* their variables are told by print_secrets() */
      int width = fprintf(out, "  --%s%s%s", flag->name, flag->argument ? "=" : "",
                          flag->argument ? flag->argument : "");
      if (width >= HELP_COLUMN) {
        (void)fputc('\n', out);
        width = 0;
      }
      (void)fprintf(out, "%*s%s", HELP_COLUMN - width, "", flag->help);
      if (flag->variable)
        (void)fprintf(out, " [$%s]", flag->variable);
      (void)fputc('\n', out);
    }
  }
  print_secrets(out, sets);
}
