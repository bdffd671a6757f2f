/* SPDX-License-Identifier: Apache-2.0 */
/* Which pools and namespaces a cluster has, and which of them hold volumes of ours, remembered for
 * a while: asking costs a read each, and CreateVolume wants to know it each time. */
#ifndef CONTROLLERPLUGIN_PLACES_H
#define CONTROLLERPLUGIN_PLACES_H

#include "lib/ceph/location.h"

struct places;

struct places *places_new(void);
void places_free(struct places *places);

/* Opens a pool and namespace to make images in; errors say which parameter is at fault. */
int places_open(struct places *places, struct cluster *cluster, const char *pool,
                const char *name_space, struct location **ret_location, struct error **err);

/* Before something is made there: sees to it that it can be deleted even when the pool has become
 * full. Where that fails, so will the making. */
void places_prepare(struct places *places, struct location *location);
/* Something of ours was made there: names may be taken there from now on. */
void places_note_made(struct places *places, const struct location *location);

/* Whether a name is taken in another place of the cluster than `here`: that place's label, to be
 * freed, or NULL. */
typedef int places_search(const struct locations *locations, const char *name);
char *places_find_elsewhere(struct places *places, struct location *here, places_search *search,
                            const char *name);

#endif
