/* SPDX-License-Identifier: Apache-2.0 */
/* All mappers, and which one a volume gets. */
#ifndef NODEPLUGIN_MAPPER_TABLE_H
#define NODEPLUGIN_MAPPER_TABLE_H

#include "nodeplugin/mapper.h"

#define MAPPER_AUTO "auto"

/* Ends with NULL; the order is the order of preference. */
extern const struct mapper *const mapper_table[];

/* NULL when there is none of this name. */
const struct mapper *mapper_by_name(const char *name);

/* What a choice depends on. */
struct mapper_wish {
  const char *name;  /* a mapper's, or MAPPER_AUTO */
  uint64_t features; /* of the image */
  bool has_limits;   /* the image carries limits, which librbd enforces and the kernel does not */
};

/* *ret_why says in words what decided; to be freed. FAILED_PRECONDITION when none will do. */
int mapper_choose(const struct mapper_env *env, const struct mapper_wish *wish,
                  const struct mapper **ret_mapper, char **ret_why, struct error **err);

/* The volume's device, whichever mapper made it. */
bool mapper_find(const struct mapper_env *env, const struct volume_id *id,
                 struct mapping *ret_mapping);
/* Takes away what any of them has made for the volume. */
int mapper_unmap(const struct mapper_env *env, const struct volume_id *id, bool is_forced,
                 struct error **err);

/* The options of a StorageClass for one mapper: "queue_depth=64" for whichever it is, or
 * "krbd:queue_depth=64;nbd:exclusive" for each its own. The words of others are checked too. */
int mapper_parse_options(const struct mapper *mapper, bool is_unmap, const char *text,
                         struct option_list *ret_options, struct error **err);

#endif
