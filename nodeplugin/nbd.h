/* SPDX-License-Identifier: Apache-2.0 */
/* What the nbd mapper has beside the table: devices whose process died. */
#ifndef NODEPLUGIN_NBD_H
#define NODEPLUGIN_NBD_H

#include "nodeplugin/mapper.h"

/* The volumes whose device nobody serves; to be freed. Mapping one anew takes its device over. */
void nbd_list_orphans(const struct mapper_env *env, struct volume_id **ret_ids, size_t *ret_count);

#endif
