/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do a piece of work, of several that could. A lease is held as long as it is renewed; when
 * its holder dies, another one gets it once it has run out.
 *
 * Clocks of machines differ, so a lease of another holder counts as run out when it was not renewed
 * for its duration while we were looking. */
#ifndef LIB_KUBE_KUBE_LEASE_H
#define LIB_KUBE_KUBE_LEASE_H

#include "lib/kube/kube_client.h"

/* What tells ours from others' in the same namespace, and how a list of them is asked for. */
#define KUBE_LEASE_LABEL "app.kubernetes.io/managed-by"
#define KUBE_LEASE_MANAGER "imprint-populator"
#define KUBE_LEASE_SELECTOR "app.kubernetes.io%2Fmanaged-by%3D" KUBE_LEASE_MANAGER

struct kube_lease;

/* name must do as a name of an object; the strings are copied. */
struct kube_lease *kube_lease_new(struct kube_client *client, const char *ns, const char *name,
                                  const char *holder, unsigned duration_s);
void kube_lease_free(struct kube_lease *lease);
DEFINE_CLEANUP(struct kube_lease *, kube_lease_free)

/* Takes it or renews it. *ret_is_held is false, and no error, while another one has it. To be
 * called every third of the duration; an error while it is held does not lose it at once: see
 * kube_lease_is_held(). */
int kube_lease_try(struct kube_lease *lease, bool *ret_is_held, struct error **err);
/* Whether the last renewal is young enough: else the work must stop. */
bool kube_lease_is_held(const struct kube_lease *lease);
/* Gives it up and removes it: the work is done. If the server does not let us, it goes later
 * (kube_lease_sweep.h). */
int kube_lease_release(struct kube_lease *lease, struct error **err);

#endif
