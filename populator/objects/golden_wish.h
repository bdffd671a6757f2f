/* SPDX-License-Identifier: Apache-2.0 */
/* What the chart's values ask for: DataImportCrons, and DataSources for images that nobody imports
 * yet. Helm cannot make them in the same go as their kinds, so the chart writes them into a
 * ConfigMap, as a list under "objects.json":
 *
 *   [{"from": "dataImportCronTemplates 'x'", "object": {"kind": …, "metadata": …, "spec": …}}, …]
 *
 * A ConfigMap without that list asks for nothing and takes nothing back: it is of an older chart.
 */
#ifndef POPULATOR_OBJECTS_GOLDEN_WISH_H
#define POPULATOR_OBJECTS_GOLDEN_WISH_H

#include "lib/kube/kube_object.h"

#define GOLDEN_WISH_NO_MINUTE (-1)

struct golden_wish {
  const char *from; /* the value it comes of, for people */
  const struct kube_kind *kind;
  const char *ns;
  const char *name;
  struct json_object *object;
};

struct golden_wishes {
  bool is_told; /* false: there is no list */
  size_t count;
  struct golden_wish *items;
  struct json_object *json; /* what the items point into */
};

/* INVALID_ARGUMENT names what is wrong with the list; nothing of it is done then. */
int golden_wishes_read(const struct kube_object *config_map, struct golden_wishes *ret_wishes,
                       struct error **err);
void golden_wishes_clear(struct golden_wishes *wishes);
/* The first one of that kind and name, or NULL. */
const struct golden_wish *golden_wishes_find(const struct golden_wishes *wishes,
                                             const struct kube_kind *kind, const char *ns,
                                             const char *name);
/* Whether some cron has no schedule of its own. */
bool golden_wishes_need_minute(const struct golden_wishes *wishes);
/* Has those look every twelve hours at that minute. */
void golden_wishes_set_minute(struct golden_wishes *wishes, int minute);

/* The minute that the ConfigMap tells, 0 to 59, or GOLDEN_WISH_NO_MINUTE. */
int golden_wish_minute(const struct kube_object *config_map);
/* One that follows from a uid: always the same, and another one elsewhere. */
int golden_wish_minute_of(const char *uid);

#endif
