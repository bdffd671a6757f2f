/* SPDX-License-Identifier: Apache-2.0 */
/* Where the API server is and who we are to it: from a kubeconfig file, or from what every pod
 * finds mounted. */
#ifndef LIB_KUBE_KUBE_CONFIG_H
#define LIB_KUBE_KUBE_CONFIG_H

#include "lib/base/error.h"

struct kube_config {
  char *server; /* "https://10.96.0.1:443", no slash at its end */
  char *ca_pem; /* the CAs that prove it; NULL: the system's */
  char *cert_pem;
  char *key_pem;
  char *token;      /* that never changes, or … */
  char *token_file; /* … the file with the one of the hour */
  char *ns;         /* our own namespace; never NULL */
};

/* path: a kubeconfig file, of which the current context counts. NULL: the file that KUBECONFIG
 * names, or else the service account of this pod. */
int kube_config_load(const char *path, struct kube_config *ret_config, struct error **err);
void kube_config_clear(struct kube_config *config);

#endif
