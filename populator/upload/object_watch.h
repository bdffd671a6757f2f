/* SPDX-License-Identifier: Apache-2.0 */
/* Clients whose object is deleted while they are silent. Whoever sends or fetches a file looks at
 * its object with every piece; but there is no next piece of a client that stalls, and what it
 * holds, a worker and a volume, would stay until its silence is too long. Such a line is cut. */
#ifndef POPULATOR_UPLOAD_OBJECT_WATCH_H
#define POPULATOR_UPLOAD_OBJECT_WATCH_H

#include <stdbool.h>

#include "lib/http/http_server.h"
#include "lib/kube/kube_mirror.h"

struct object_watch;

/* An exchange and what it is about: room that its owner gives, from add to remove. */
struct watched_object {
  struct http_call *call;
  struct kube_mirror *mirror;
  struct kube_object *object; /* a reference */
  bool was_seen;              /* the mirror has caught up with it */
  unsigned gone_looks;
  struct watched_object *next;
};

struct object_watch *object_watch_start(void);
void object_watch_stop(struct object_watch *watch);

void object_watch_add(struct object_watch *watch, struct watched_object *watched,
                      struct http_call *call, struct kube_mirror *mirror,
                      struct kube_object *object);
/* Nothing, when it was not added. Behind this its line is not touched any more. */
void object_watch_remove(struct object_watch *watch, struct watched_object *watched);

#endif
