/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials for registries in the file that docker, podman and Kubernetes pull secrets share:
 *
 *   {"auths": {"registry.example:5000": {"auth": "dXNlcjpwYXNzd29yZA=="}}}
 *
 * Helper programs that it may name are not run. */
#ifndef POPULATOR_REGISTRY_AUTH_FILE_H
#define POPULATOR_REGISTRY_AUTH_FILE_H

#include <stddef.h>

#include "lib/base/error.h"
#include "populator/registry/reference.h"

/* NULL where there is none. */
struct credentials {
  char *user;
  char *password;
  char *identity_token; /* to get tokens with, in place of user and password */
  char *registry_token; /* to show to the registry itself */
};

/* Those of the entry that fits the image best: "host/path" before "host". None of them when no
 * entry does. */
int auth_file_parse(const void *data, size_t len, const struct reference *reference,
                    struct credentials *ret_credentials, struct error **err);
int auth_file_read(const char *path, const struct reference *reference,
                   struct credentials *ret_credentials, struct error **err);
void credentials_clear(struct credentials *credentials);

#endif
