/* SPDX-License-Identifier: Apache-2.0 */
/* What a transfer has to connect to, as rules for its sandbox.
 *
 * The cluster: every host that its maps name, on the ports that Ceph's daemons use. A host that
 * joins the cluster while a transfer runs is not among them; writes to its OSDs then wait, and the
 * guard's log line names it. Where that happens, the networks of the cluster are given as text
 * (net_policy_add_text).
 *
 * The source: the host that the URL names, as it resolves now. Web servers send their clients
 * elsewhere, and their names resolve to other addresses an hour later; for them the whole public
 * internet counts on the web's ports, which gives nothing away: who serves a hostile image can be
 * reached by it anyway. What is behind the public addresses, the cluster's own services above all,
 * stays out of reach unless the URL, or the text of a person, names it.
 *
 * A server inside leads to others inside: from http to https, from a registry to where its tokens
 * and its blobs are. So the web's ports of the named host are allowed, and where that host has a
 * private address, those of all private networks; never of this machine, its links and metadata
 * services, unless these are allowed by themselves. */
#ifndef POPULATOR_TRANSFER_SANDBOX_NETWORK_H
#define POPULATOR_TRANSFER_SANDBOX_NETWORK_H

#include "lib/ceph/daemons.h"
#include "lib/sandbox/net_policy.h"

void sandbox_network_add_daemons(struct net_policy *policy, const struct daemons *daemons);
/* For the first connection, of which only some monitors are known, and not by all their addresses:
 * the first to answer names the others, on whatever ports, and librados goes to one of these. Until
 * the sandbox is sealed, before the first byte of an image, everything may be connected to. */
void sandbox_network_add_monitors(struct net_policy *policy, const struct daemons *daemons);
/* A URL "scheme://host[:port]/…" of a source, a sink, a proxy or an endpoint, or the path of
 * nbd+unix. A URL without a host needs no rule. Where local addresses are allowed, a web server may
 * lead to every port of its own host and to the web's ports of every address. UNAVAILABLE when the
 * name cannot be resolved. */
int sandbox_network_add_url(struct net_policy *policy, const char *url, bool allow_local,
                            struct error **err);

#endif
