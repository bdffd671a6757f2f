/* SPDX-License-Identifier: Apache-2.0 */
/* NodePublishVolume and NodeUnpublishVolume of an ephemeral inline volume: it is made, mapped and
 * mounted by the one, and all of that is undone by the other. There is no staging. */
#ifndef NODEPLUGIN_INLINE_PUBLISH_H
#define NODEPLUGIN_INLINE_PUBLISH_H

#include "lib/base/string_map.h"
#include "nodeplugin/node.h"

/* context: the request's volume_context. What this call has made does not stay when it fails. */
int inline_publish(struct node *node, const Csi__V1__NodePublishVolumeRequest *request,
                   const struct string_map *context, struct error **err);
/* Behind the unmounting, which is the same for all volumes. Fine when there is no such volume. */
int inline_unpublish(struct node *node, const char *kubelet_id, struct error **err);

#endif
