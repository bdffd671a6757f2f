/* SPDX-License-Identifier: Apache-2.0 */
/* Leases on images that are being sent. Whether one of another populator has run out shows only to
 * whoever looks at it for as long as it is good (kube_lease.h). No client is kept for that: it is
 * told to come again, and what was seen is remembered until then. Any thread. */
#ifndef POPULATOR_UPLOAD_UPLOAD_LEASES_H
#define POPULATOR_UPLOAD_UPLOAD_LEASES_H

#include "lib/kube/kube_lease.h"

#define UPLOAD_LEASE_S 15

struct upload_leases;

/* `holder` is copied. */
struct upload_leases *upload_leases_new(struct kube_client *client, const char *holder);
void upload_leases_free(struct upload_leases *leases);

/* One look; *ret_lease is held, and to be freed. UNAVAILABLE while another one has it. A name must
 * not be asked for twice at a time. */
int upload_leases_take(struct upload_leases *leases, const char *name,
                       struct kube_lease **ret_lease, struct error **err);

#endif
