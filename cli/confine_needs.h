/* SPDX-License-Identifier: Apache-2.0 */
/* What a command has to reach on this machine and beyond: files, folders and addresses, told by the
 * URLs and clusters that it is about. The sandbox leaves it that, and nothing else. */
#ifndef CLI_CONFINE_NEEDS_H
#define CLI_CONFINE_NEEDS_H

#include "lib/sandbox/net_policy.h"
#include "populator/source/source.h"

/* Paths; the list ends with NULL once there is one. */
struct confine_paths {
  char **items;
  size_t count;
};

struct confine_needs {
  struct net_policy network;
  struct confine_paths read;
  struct confine_paths write;
};

void confine_needs_clear(struct confine_needs *needs);

/* A source, or a destination, and what the user says of it. Names are resolved: UNAVAILABLE when
 * that fails. */
int confine_needs_add_source(struct confine_needs *needs, const char *url,
                             const struct source_options *options, struct error **err);
int confine_needs_add_destination(struct confine_needs *needs, const char *url,
                                  const struct source_options *options, struct error **err);
/* Files of a client of the cluster, and its monitors: the others are learnt from these. */
int confine_needs_add_cluster(struct confine_needs *needs, const struct cluster_config *config,
                              struct error **err);
void confine_needs_add_file(struct confine_needs *needs, const char *path);

#endif
