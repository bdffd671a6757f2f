/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a watch. */
#ifndef LIB_KUBE_WATCH_EVENT_H
#define LIB_KUBE_WATCH_EVENT_H

#include "lib/kube/kube_object.h"

enum watch_event_type { WATCH_PUT, WATCH_GONE, WATCH_BOOKMARK };

struct watch_event {
  enum watch_event_type type;
  struct kube_object *object; /* of a bookmark too few parts are there to be one: NULL */
  char *version;              /* where the watch goes on from here */
};

/* An ERROR line becomes the error that it tells of; OUT_OF_RANGE: everything must be listed anew.
 */
int watch_event_parse(const char *line, size_t len, struct watch_event *ret_event,
                      struct error **err);
void watch_event_clear(struct watch_event *event);

#endif
