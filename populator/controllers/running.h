/* SPDX-License-Identifier: Apache-2.0 */
/* The controllers as a whole: what main() starts and stops. */
#ifndef POPULATOR_CONTROLLERS_RUNNING_H
#define POPULATOR_CONTROLLERS_RUNNING_H

#include "populator/controllers/populator.h"

struct populator_options {
  struct kube_client *client;
  const char *driver;
  const char *endpoint; /* of the controller plugin */
  const char *clusters_file;
  const char *worker;
  const char *identity; /* who we are among several populators */
  size_t max_transfers;
  int64_t discard_s;       /* how long a deleted export waits for its store */
  int64_t upload_expiry_s; /* how long a part of a file is kept behind its last byte; 0: for ever */
  bool allow_local_addresses;
  const char *allow_network; /* what transfers may connect to beside what they name, or NULL */
  bool is_without_cdi;       /* others serve KubeVirt's kinds */
  const char *node;          /* reads images from files of this node, and does nothing else */
  const char *host_images;   /* folder of nodes that images are read from */
  const char *golden_images; /* ConfigMap of our namespace, golden_wish.h; NULL: none */
  const char *download_url;  /* what the URLs of exports begin with; NULL: they cannot be fetched */
  struct object_store object_store;
};

/* The options must outlive it. */
struct populator *populator_new(const struct populator_options *options);
/* Fails when the API server does not tell us what we need. */
int populator_start(struct populator *populator, struct error **err);
/* Whether it can do its work: its copies are complete and the controller plugin answers. */
int populator_check(struct populator *populator, struct error **err);
/* Its numbers, as Prometheus reads them. */
void populator_metrics(struct populator *populator, struct buffer *text);
/* Transfers under way are ended: they can be gone on with. The client is cancelled. */
void populator_stop(struct populator *populator);
void populator_free(struct populator *populator);

#endif
