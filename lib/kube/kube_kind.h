/* SPDX-License-Identifier: Apache-2.0 */
/* A kind of object, and where the API server has it. */
#ifndef LIB_KUBE_KUBE_KIND_H
#define LIB_KUBE_KUBE_KIND_H

#include <stdbool.h>

struct kube_kind {
  const char *group; /* "" for pods, claims and the like */
  const char *version;
  const char *plural; /* as in the URL: "persistentvolumeclaims" */
  const char *kind;   /* as in the object: "PersistentVolumeClaim" */
  bool is_cluster_wide;
};

/* "/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE"; the last three may be NULL.
 * Names are escaped. To be freed. */
char *kube_kind_path(const struct kube_kind *kind, const char *ns, const char *name,
                     const char *subresource);
/* "GROUP/VERSION", or "v1". To be freed. */
char *kube_kind_api_version(const struct kube_kind *kind);

/* Kinds of Kubernetes itself that are used here. */
extern const struct kube_kind kube_cluster_roles;
extern const struct kube_kind kube_config_maps;
extern const struct kube_kind kube_csi_drivers;
extern const struct kube_kind kube_csi_nodes;
extern const struct kube_kind kube_daemon_sets;
extern const struct kube_kind kube_deployments;
extern const struct kube_kind kube_events;
extern const struct kube_kind kube_leases;
extern const struct kube_kind kube_namespaces;
extern const struct kube_kind kube_nodes;
extern const struct kube_kind kube_persistent_volume_claims;
extern const struct kube_kind kube_persistent_volumes;
extern const struct kube_kind kube_pods;
extern const struct kube_kind kube_reference_grants;
extern const struct kube_kind kube_secrets;
extern const struct kube_kind kube_storage_classes;
extern const struct kube_kind kube_subject_access_reviews;
extern const struct kube_kind kube_token_reviews;
extern const struct kube_kind kube_volume_attributes_classes;
extern const struct kube_kind kube_volume_snapshot_classes;
extern const struct kube_kind kube_volume_snapshot_contents;
extern const struct kube_kind kube_volume_snapshots;

#endif
