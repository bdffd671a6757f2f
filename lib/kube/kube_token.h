/* SPDX-License-Identifier: Apache-2.0 */
/* The bearer token of a service account. Kubernetes puts a new one into the file before the old one
 * expires, so the file is looked at again and again. Any thread. */
#ifndef LIB_KUBE_KUBE_TOKEN_H
#define LIB_KUBE_KUBE_TOKEN_H

#include "lib/kube/kube_config.h"

struct kube_token;

struct kube_token *kube_token_new(const struct kube_config *config);
void kube_token_free(struct kube_token *token);

/* A copy, to be freed; NULL where there is none to be used. */
int kube_token_get(struct kube_token *token, char **ret_text, struct error **err);
/* The server did not take it: the file is read again at once. */
void kube_token_refused(struct kube_token *token);

#endif
