/* SPDX-License-Identifier: Apache-2.0 */
/* What `kubectl describe` shows under Events. The same thing said again raises the count of the
 * event that is there, also after a restart; said again within a minute it is not told at all. */
#ifndef LIB_KUBE_KUBE_EVENT_H
#define LIB_KUBE_KUBE_EVENT_H

#include "lib/kube/kube_client.h"
#include "lib/kube/kube_object.h"

struct kube_events;

/* `component` is who says it; not copied. */
struct kube_events *kube_events_new(struct kube_client *client, const char *component);
void kube_events_free(struct kube_events *events);

enum kube_event_type { KUBE_EVENT_NORMAL, KUBE_EVENT_WARNING };

/* An event that cannot be written is no reason to fail: it is logged. */
void kube_event_tell(struct kube_events *events, const struct kube_kind *kind,
                     const struct kube_object *about, enum kube_event_type type, const char *reason,
                     const char *format, ...) __attribute__((format(printf, 6, 7)));

#endif
