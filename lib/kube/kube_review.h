/* SPDX-License-Identifier: Apache-2.0 */
/* Who a token belongs to, and what that user may do: asked of the API server, which decides as for
 * a request to itself. */
#ifndef LIB_KUBE_KUBE_REVIEW_H
#define LIB_KUBE_KUBE_REVIEW_H

#include "lib/kube/kube_client.h"

struct kube_access {
  const char *verb; /* "update" */
  const struct kube_kind *kind;
  const char *subresource; /* or NULL */
  const char *ns;
  const char *name;
};

/* *ret_user, to be put, is the user as kube_review_access() takes it. UNAUTHENTICATED when the
 * server does not know the token. */
int kube_review_token(struct kube_client *client, const char *token, struct json_object **ret_user,
                      struct error **err);
/* PERMISSION_DENIED when the user may not do it. */
int kube_review_access(struct kube_client *client, struct json_object *user,
                       const struct kube_access *access, struct error **err);

#endif
