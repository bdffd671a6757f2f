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

/* UNAUTHENTICATED when the server does not know the token, PERMISSION_DENIED when its user may not
 * do it. */
int kube_review(struct kube_client *client, const char *token, const struct kube_access *access,
                struct error **err);

#endif
