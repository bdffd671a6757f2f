/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of options from outside ("noatime,commit=30"), let through by an allow list: what is not on
 * it is refused by name. An option is a name, or a name and a value. */
#ifndef NODEPLUGIN_OPTION_LIST_H
#define NODEPLUGIN_OPTION_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

struct option_item {
  char *name;
  char *value; /* NULL: it has none */
};

struct option_list {
  struct option_item *items;
  size_t count;
};

enum option_value { OPTION_FLAG, OPTION_VALUE, OPTION_MAY_HAVE_VALUE };

/* One that is allowed; a table ends with a NULL name. */
struct option_rule {
  const char *name;
  enum option_value value;
  const char *refused; /* a value that is not allowed all the same, or NULL */
};

/* Adds the options of `text`, commas between them, to `list`. INVALID_ARGUMENT naming the option;
 * `what` says what they are options of. Values hold letters, digits and ._:+- only: no blanks, no
 * quotes, no paths. */
int option_list_add(struct option_list *list, const struct option_rule *rules, const char *what,
                    const char *text, struct error **err);
/* NULL when it is not in the list. */
const struct option_item *option_list_find(const struct option_list *list, const char *name);
void option_list_clear(struct option_list *list);

#endif
