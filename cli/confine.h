/* SPDX-License-Identifier: Apache-2.0 */
/* Shuts the process in before it looks at what strangers wrote. The order is that of
 * populator/transfer/sandbox.h:
 *
 *   confine_begin()   with one thread, and what the command is about to reach
 *   …                 connect to the cluster
 *   confine_seal()    its daemons are added, nothing more is allowed
 *   …                 the work
 *
 * What the kernel or a container does not have is a warning each, or an error with
 * --strict-sandbox. */
#ifndef CLI_CONFINE_H
#define CLI_CONFINE_H

#include "cli/confine_needs.h"
#include "cli/flags.h"
#include "lib/ceph/cluster.h"
#include "populator/format/foreign/foreign_helper.h"

/* --no-sandbox, --strict-sandbox, --allow-network */
extern const struct flag_set confine_flags;

struct confinement;

/* What is needed is the caller's. */
int confine_begin(const struct confine_needs *needs, struct confinement **ret_confinement,
                  struct error **err);
/* Adds the daemons of a cluster that was connected to. */
int confine_add_cluster(struct confinement *confinement, struct cluster *cluster,
                        struct error **err);
int confine_seal(struct confinement *confinement, struct error **err);
/* At the end of the process. */
void confinement_free(struct confinement *confinement);
DEFINE_CLEANUP(struct confinement *, confinement_free)

/* Reads foreign formats: outside, for a process that may run no program. NULL where it cannot be
 * had. */
struct foreign_helper *confinement_foreign(struct confinement *confinement);

#endif
