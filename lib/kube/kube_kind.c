/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_kind.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"

const struct kube_kind kube_cluster_roles = {"rbac.authorization.k8s.io", "v1", "clusterroles",
                                             "ClusterRole", true};
const struct kube_kind kube_config_maps = {"", "v1", "configmaps", "ConfigMap", false};
const struct kube_kind kube_csi_drivers = {"storage.k8s.io", "v1", "csidrivers", "CSIDriver", true};
const struct kube_kind kube_csi_nodes = {"storage.k8s.io", "v1", "csinodes", "CSINode", true};
const struct kube_kind kube_daemon_sets = {"apps", "v1", "daemonsets", "DaemonSet", false};
const struct kube_kind kube_deployments = {"apps", "v1", "deployments", "Deployment", false};
const struct kube_kind kube_events = {"", "v1", "events", "Event", false};
const struct kube_kind kube_leases = {"coordination.k8s.io", "v1", "leases", "Lease", false};
const struct kube_kind kube_namespaces = {"", "v1", "namespaces", "Namespace", true};
const struct kube_kind kube_nodes = {"", "v1", "nodes", "Node", true};
const struct kube_kind kube_persistent_volume_claims = {"", "v1", "persistentvolumeclaims",
                                                        "PersistentVolumeClaim", false};
const struct kube_kind kube_persistent_volumes = {"", "v1", "persistentvolumes", "PersistentVolume",
                                                  true};
const struct kube_kind kube_pods = {"", "v1", "pods", "Pod", false};
const struct kube_kind kube_reference_grants = {"gateway.networking.k8s.io", "v1beta1",
                                                "referencegrants", "ReferenceGrant", false};
const struct kube_kind kube_secrets = {"", "v1", "secrets", "Secret", false};
const struct kube_kind kube_storage_classes = {"storage.k8s.io", "v1", "storageclasses",
                                               "StorageClass", true};
const struct kube_kind kube_subject_access_reviews = {
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", true};
const struct kube_kind kube_token_reviews = {"authentication.k8s.io", "v1", "tokenreviews",
                                             "TokenReview", true};
const struct kube_kind kube_volume_attributes_classes = {
    "storage.k8s.io", "v1", "volumeattributesclasses", "VolumeAttributesClass", true};
const struct kube_kind kube_volume_snapshot_classes = {
    "snapshot.storage.k8s.io", "v1", "volumesnapshotclasses", "VolumeSnapshotClass", true};
const struct kube_kind kube_volume_snapshot_contents = {
    "snapshot.storage.k8s.io", "v1", "volumesnapshotcontents", "VolumeSnapshotContent", true};
const struct kube_kind kube_volume_snapshots = {"snapshot.storage.k8s.io", "v1", "volumesnapshots",
                                                "VolumeSnapshot", false};

/* "/" and what may stand in a path; the rest as %XX. Names come out of other people's objects. */
static void
append_part(struct buffer *path, const char *part)
{
  (void)buffer_append_text(path, "/");
  for (; *part; part++) {
    char escaped[4];
    if (isalnum((unsigned char)*part) || strchr("-._~", *part))
      (void)buffer_append(path, part, 1);
    else if (snprintf(escaped, sizeof(escaped), "%%%02X", (unsigned char)*part) == 3)
      (void)buffer_append(path, escaped, 3);
  }
}

char *
kube_kind_path(const struct kube_kind *kind, const char *ns, const char *name,
               const char *subresource)
{
  struct buffer path = {0};
  if (*kind->group) {
    append_part(&path, "apis");
    append_part(&path, kind->group);
  } else {
    append_part(&path, "api");
  }
  append_part(&path, kind->version);
  if (ns && !kind->is_cluster_wide) {
    append_part(&path, "namespaces");
    append_part(&path, ns);
  }
  append_part(&path, kind->plural);
  if (name)
    append_part(&path, name);
  if (subresource)
    append_part(&path, subresource);
  return path.data;
}

char *
kube_kind_api_version(const struct kube_kind *kind)
{
  return *kind->group ? xasprintf("%s/%s", kind->group, kind->version) : xstrdup(kind->version);
}
