/* SPDX-License-Identifier: Apache-2.0 */
/* What a volume is cloned from: a claim or a snapshot, of any namespace. */
#ifndef POPULATOR_OBJECTS_SOURCE_LINK_H
#define POPULATOR_OBJECTS_SOURCE_LINK_H

#include "lib/kube/json.h"
#include "lib/kube/kube_kind.h"

struct source_link {
  const struct kube_kind *kind; /* of claims or of snapshots; NULL: of nothing */
  char *ns;
  char *name;
};

void source_link_clear(struct source_link *link);
void source_link_copy(const struct source_link *link, struct source_link *ret_link);
bool source_link_is_same(const struct source_link *a, const struct source_link *b);

/* {"pvc": {"namespace": …, "name": …}} or {"snapshot": …}; a namespace that is not given is
 * default_ns. False when it is neither. */
bool source_link_read(struct json_object *source, const char *default_ns,
                      struct source_link *ret_link);
/* The same written; to be put. */
struct json_object *source_link_json(const struct source_link *link);

/* "PersistentVolumeClaim/golden-images/fedora"; to be freed. */
char *source_link_text(const struct source_link *link);
/* False when it is none. */
bool source_link_parse(const char *text, struct source_link *ret_link);

#endif
