/* SPDX-License-Identifier: Apache-2.0 */
/* Leases that nobody needs any more. The holder removes its lease when the work is done; one that
 * is killed just then, or whom the API server refuses it, leaves it, and there is no work for which
 * another one would take it over.
 *
 * As with taking over (kube_lease.h), nobody's clock is believed: a lease is dead when it stayed
 * the same for twice its duration while we were looking. */
#ifndef LIB_KUBE_KUBE_LEASE_SWEEP_H
#define LIB_KUBE_KUBE_LEASE_SWEEP_H

#include "lib/kube/kube_client.h"

struct kube_lease_sweeper;

/* Sweeps a namespace a few times a minute, until the client is cancelled. */
struct kube_lease_sweeper *kube_lease_sweeper_start(struct kube_client *client, const char *ns);
/* Behind kube_client_cancel(). */
void kube_lease_sweeper_free(struct kube_lease_sweeper *sweeper);

#endif
