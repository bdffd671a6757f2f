/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/confine.h"

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/ceph/daemons.h"
#include "populator/transfer/sandbox.h"
#include "populator/transfer/sandbox_network.h"

static bool is_off;
static bool is_strict;
static struct flag_list networks;

static const struct flag flags[] = {
    {"no-sandbox", FLAG_SWITCH, &is_off, NULL, "do without the sandbox", NULL},
    {"strict-sandbox", FLAG_SWITCH, &is_strict, NULL,
     "fail where a part of the sandbox cannot be had", NULL},
    {"allow-network", FLAG_LIST, &networks, "NETWORK[:PORTS],…",
     "may be connected to beside what the arguments name, as 10.0.0.0/24:443,10.1.0.7", NULL},
};

const struct flag_set confine_flags = {flags, sizeof(flags) / sizeof(flags[0])};

struct confinement {
  struct foreign_helper *foreign;
  struct sandbox *sandbox; /* NULL: it is off */
};

void
confinement_free(struct confinement *confinement)
{
  if (!confinement)
    return;
  foreign_helper_free(confinement->foreign);
  sandbox_free(confinement->sandbox);
  free(confinement);
}

struct foreign_helper *
confinement_foreign(struct confinement *confinement)
{
  return confinement->foreign;
}

static int
enter(const struct confine_needs *needs, struct confinement *confinement, struct error **err)
{
  struct net_policy network = {0};
  int r = 0;
  for (size_t i = 0; r == 0 && i < networks.count; i++)
    r = net_policy_add_list(&network, networks.items[i], err);
  net_policy_add_all(&network, &needs->network);
  const struct sandbox_options options = {.read_paths = (const char *const *)needs->read.items,
                                          .write_paths = (const char *const *)needs->write.items,
                                          .network = &network,
                                          .keeps_file_rights = true,
                                          .is_strict = is_strict};
  if (r == 0)
    r = sandbox_enter(&options, &confinement->sandbox, err);
  net_policy_clear(&network);
  return r;
}

int
confine_begin(const struct confine_needs *needs, struct confinement **ret_confinement,
              struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = xcalloc(1, sizeof(*confinement));
  CLEANUP(error_freep) struct error *failure = NULL;
  if (foreign_helper_start(&(struct foreign_helper_options){0}, &confinement->foreign, &failure) <
      0)
    log_debug("foreign formats cannot be read: %s", failure->message);
  if (is_off)
    log_warn("sandbox: off, as --no-sandbox says");
  else if (enter(needs, confinement, err) < 0)
    return -1;
  *ret_confinement = TAKE(confinement);
  return 0;
}

int
confine_add_cluster(struct confinement *confinement, struct cluster *cluster, struct error **err)
{
  struct daemons daemons;
  struct net_policy network = {0};
  if (!confinement->sandbox)
    return 0;
  if (daemons_of_cluster(cluster, &daemons, err) < 0)
    return -1;
  sandbox_network_add_daemons(&network, &daemons);
  daemons_clear(&daemons);
  int r = sandbox_allow(confinement->sandbox, &network, err);
  net_policy_clear(&network);
  return r;
}

int
confine_seal(struct confinement *confinement, struct error **err)
{
  return confinement->sandbox ? sandbox_seal(confinement->sandbox, err) : 0;
}
