/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of all objects of a kind that follows the server: listed once, then watched. A watch that
 * breaks is taken up where it ended; when the server no longer knows that place, everything is
 * listed anew and the differences are told as changes. A thread of its own; any thread may look. */
#ifndef LIB_KUBE_KUBE_MIRROR_H
#define LIB_KUBE_KUBE_MIRROR_H

#include "lib/kube/kube_client.h"
#include "lib/kube/kube_object.h"

/* A larger line of a watch breaks it, and with it the object that cannot be followed is told in the
 * log: etcd itself takes 1.5 MiB. */
#define KUBE_WATCH_LINE_MAX_BYTES (8 << 20)

struct kube_mirror_options {
  const struct kube_kind *kind;
  const char *ns;     /* NULL: of all namespaces */
  const char *name;   /* only the one of this name, for whoever may see no other; NULL: all */
  const char *labels; /* a selector, or NULL */
  /* Of this kind there may be no definition on the server (a CRD of others): then there are simply
   * no objects, until there is. */
  bool is_optional;
  /* Called by the mirror's thread for each change: before is NULL for what is new, after for what
   * is gone. It must not block. */
  void (*changed)(void *context, const struct kube_object *before, const struct kube_object *after);
  /* Called by the same thread when the server cannot be followed any more, once, and with NULL when
   * it can be again. Or NULL. */
  void (*cut_off)(void *context, const struct kube_kind *kind, const struct error *failure);
  void *context;
};

struct kube_mirror;

struct kube_mirror *kube_mirror_new(struct kube_client *client,
                                    const struct kube_mirror_options *options);
void kube_mirror_start(struct kube_mirror *mirror);
/* After kube_client_cancel(), if it was started. */
void kube_mirror_free(struct kube_mirror *mirror);
DEFINE_CLEANUP(struct kube_mirror *, kube_mirror_free)

const struct kube_kind *kube_mirror_kind(const struct kube_mirror *mirror);
/* Until the first list is complete. When it is not by then, on the clock of clock.h, the error is
 * what the server said last. */
int kube_mirror_wait(struct kube_mirror *mirror, int64_t deadline_ms, struct error **err);

/* For how long what is here may be old, because the server cannot be followed; 0: it is. */
int64_t kube_mirror_cut_off_ms(struct kube_mirror *mirror);

/* A reference, or NULL. ns is "" for kinds of the whole cluster. */
struct kube_object *kube_mirror_get(struct kube_mirror *mirror, const char *ns, const char *name);
/* References to all (of a namespace, unless it is NULL), ends with NULL. */
struct kube_object **kube_mirror_all(struct kube_mirror *mirror, const char *ns);
void kube_objects_free(struct kube_object **objects);
DEFINE_CLEANUP(struct kube_object **, kube_objects_free)

#endif
