/* SPDX-License-Identifier: Apache-2.0 */
/* What all controllers share, and the table of them. A controller looks after one kind: whatever
 * happens to an object, it is called with the object's name, looks at how things are, and does the
 * next step towards how they should be. It may be called at any time, any number of times, and
 * killed between any two steps. */
#ifndef POPULATOR_CONTROLLERS_POPULATOR_H
#define POPULATOR_CONTROLLERS_POPULATOR_H

#include <stdatomic.h>

#include "csi/rpc/client.h"
#include "lib/base/recent.h"
#include "lib/base/work_queue.h"
#include "lib/kube/kube_event.h"
#include "lib/kube/kube_mirror.h"
#include "lib/kube/kube_write.h"
#include "populator/objects/kinds.h"
#include "populator/work/lookups.h"
#include "populator/work/transfers.h"

/* The S3 store of the installation; endpoint NULL: there is none. */
struct object_store {
  const char *endpoint;
  const char *region;
  const char *secret; /* in our own namespace */
};

struct populator {
  const char *driver;
  const char *identity;      /* who this is among several */
  const char *clusters_file; /* the Ceph clusters, for the workers */
  bool allow_local_addresses;
  const char *allow_network; /* what transfers may connect to beside what they name, or NULL */
  bool is_without_cdi;       /* others serve KubeVirt's kinds */
  const char *node;        /* only files of this node are read, host_image.h; NULL: all but those */
  const char *host_images; /* folder of nodes that images are read from; NULL: none */
  const char
      *golden_images;       /* ConfigMap of ours with what the chart's values ask for; NULL: none */
  const char *download_url; /* what the URLs of exports begin with; NULL: they cannot be fetched */
  struct object_store object_store;
  struct kube_client *client;
  struct kube_events *events;
  struct rpc_client *controller;
  struct transfers *transfers;
  struct kube_lease_sweeper *lease_sweeper;
  struct lookups *lookups;
  struct work_queue *queue;
  struct series *counters;
  int64_t discard_s;          /* how long a deleted export waits for its store */
  int64_t upload_expiry_s;    /* how long a part of a file is kept; 0: for ever */
  struct recent *discarded;   /* uids of those that were refused by it just now */
  struct recent *handed_over; /* uids of claims that Kubernetes is binding, or has just bound */
  struct recent *golden_told; /* golden images that cannot be made, and why: what was logged */
  atomic_int golden_minute;   /* at which they are looked for, see golden_images.c */
  atomic_uint golden_refused; /* how many cannot be made */
  atomic_bool is_started;     /* all mirrors are complete */

  struct kube_mirror *images;
  struct kube_mirror *volumes;
  struct kube_mirror *pvcs; /* of kind VirtualMachinePvc */
  struct kube_mirror *exports;
  struct kube_mirror *rollbacks;
  struct kube_mirror *storages; /* of kind HyperCloudStorage */
  struct kube_mirror *golden;   /* the ConfigMap with golden images */
  struct kube_mirror *claims;
  struct kube_mirror *storage_classes;
  struct kube_mirror *reference_grants;
  struct kube_mirror *snapshots;
  struct kube_mirror *data_sources;
  struct kube_mirror *data_volumes;
  struct kube_mirror *data_import_crons;
};

/* One kind and who looks after it. */
struct controller {
  const char *name; /* begins the keys of the queue: "image/default/ubuntu" */
  const struct kube_kind *kind;
  /* *ret_again_ms: when to come back without being called; WORK_DONE: not at all. */
  int (*reconcile)(struct populator *populator, const struct kube_object *object,
                   int64_t *ret_again_ms, struct error **err);
};

extern const struct controller image_controller;
extern const struct controller volume_controller;
extern const struct controller pvc_controller;
extern const struct controller claim_controller;
extern const struct controller export_controller;
extern const struct controller rollback_controller;
extern const struct controller storage_controller;
extern const struct controller data_source_controller;
extern const struct controller data_volume_controller;
extern const struct controller data_import_cron_controller;
extern const struct controller golden_images_controller;

/* The key of an object in the queue; to be freed. */
char *populator_key(const struct controller *controller, const char *ns, const char *name);
void populator_wake(struct populator *populator, const struct controller *controller,
                    const char *ns, const char *name);

/* Tells a job what the installation lets transfers connect to. */
void populator_add_network(const struct populator *populator, struct json_object *job);

/* What tells the controllers: of the mirrors. Each knows whom a change concerns. */
void image_changed(void *context, const struct kube_object *before,
                   const struct kube_object *after);
void volume_changed(void *context, const struct kube_object *before,
                    const struct kube_object *after);
void pvc_changed(void *context, const struct kube_object *before, const struct kube_object *after);
void claim_changed(void *context, const struct kube_object *before,
                   const struct kube_object *after);
void export_changed(void *context, const struct kube_object *before,
                    const struct kube_object *after);
void rollback_changed(void *context, const struct kube_object *before,
                      const struct kube_object *after);
void storage_changed(void *context, const struct kube_object *before,
                     const struct kube_object *after);
void data_source_changed(void *context, const struct kube_object *before,
                         const struct kube_object *after);
void data_volume_changed(void *context, const struct kube_object *before,
                         const struct kube_object *after);
void data_import_cron_changed(void *context, const struct kube_object *before,
                              const struct kube_object *after);
void golden_images_changed(void *context, const struct kube_object *before,
                           const struct kube_object *after);
void snapshot_changed(void *context, const struct kube_object *before,
                      const struct kube_object *after);
/* Volumes may wait for an image, and claims for that or a DataSource. */
void volume_image_changed(struct populator *populator, const struct kube_object *image);
void claim_origin_changed(struct populator *populator, const struct kube_kind *kind,
                          const struct kube_object *object);
/* What a DataImportCron may have made, and the DataSource that it may point somewhere. */
void data_import_cron_import_changed(struct populator *populator, const struct kube_object *import);
void data_import_cron_target_changed(struct populator *populator, const struct kube_object *target);
/* A claim or a snapshot that a DataSource may lead to. */
void data_source_target_changed(struct populator *populator, const struct kube_kind *target_kind,
                                const struct kube_object *target);
/* Of a class or a grant: claims may wait for it. */
void surroundings_changed(void *context, const struct kube_object *before,
                          const struct kube_object *after);

#endif
