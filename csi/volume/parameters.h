/* SPDX-License-Identifier: Apache-2.0 */
/* StorageClass parameters: docs/storageclass.md is their reference, kept in step by a test. */
#ifndef CSI_VOLUME_PARAMETERS_H
#define CSI_VOLUME_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/string_map.h"

enum copy_mode {
  COPY_MODE_COW,   /* the volume shares what it has not overwritten with its source */
  COPY_MODE_CLONE, /* everything is copied before the volume is handed out */
};

struct volume_parameters {
  char *cluster_id; /* NULL: the only cluster there is */
  char *pool;
  char *data_pool;  /* NULL: the same pool */
  char *name_space; /* "" for none */
  uint64_t features;
  uint64_t order;        /* 0: the cluster's default */
  uint64_t stripe_unit;  /* 0: no fancy striping */
  uint64_t stripe_count; /* … */
  enum copy_mode copy_mode;
  char *image_source;         /* what a volume without another source begins as; NULL: blank */
  char *image_endpoint;       /* S3 store of that; NULL: AWS */
  struct string_map settings; /* what was given, by name, without what Kubernetes adds */
  struct string_map labels;   /* what Kubernetes adds: whose volume it is, for people to read */
  struct string_map node;     /* what the node plugin needs to know */
};

/* INVALID_ARGUMENT that names the parameter, also for one that is not known. */
int volume_parameters_parse(const struct string_map *given,
                            struct volume_parameters *ret_parameters, struct error **err);
void volume_parameters_clear(struct volume_parameters *parameters);

/* The names of all parameters, for the documentation's test; ends with NULL. */
const char *const *volume_parameter_names(void);

/* VolumeSnapshotClass parameters: there are none but what Kubernetes adds. */
int snapshot_parameters_check(const struct string_map *given, struct error **err);

#endif
