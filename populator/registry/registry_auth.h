/* SPDX-License-Identifier: Apache-2.0 */
/* How requests to one repository of a registry prove who sends them: not at all, with a user and a
 * password, or with a token that another server hands out for them and that expires while a large
 * image is on its way.
 *
 * Credentials go to the registry the user named, or to the token server which that registry names,
 * and there only over TLS unless the registry itself is spoken to without. Any number of threads.
 */
#ifndef POPULATOR_REGISTRY_REGISTRY_AUTH_H
#define POPULATOR_REGISTRY_REGISTRY_AUTH_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/http/http.h"
#include "populator/registry/reference.h"

/* How to talk to registries; the strings outlive whoever is given them. */
struct registry_options {
  /* Its user, password and bearer are the credentials for the registry. */
  struct http_options http;
  bool insecure;          /* plain http, for registries that have no TLS */
  const char *auth_file;  /* credentials by registry, see auth_file.h; or NULL */
  const char *mount_from; /* a repository of the same registry that blobs may be taken from */
};

struct registry_auth;

/* actions: "pull" or "pull,push". */
int registry_auth_new(const struct reference *reference, const struct registry_options *options,
                      const char *actions, struct registry_auth **ret_auth, struct error **err);
void registry_auth_free(struct registry_auth *auth);
DEFINE_CLEANUP(struct registry_auth *, registry_auth_free)

/* What a request is sent with. */
struct registry_access {
  struct http_client *http;
  char *bearer;      /* for the request; NULL: none */
  unsigned revision; /* of what is known of the registry */
};

/* As far as is known; a token that is about to expire is replaced first. */
int registry_auth_access(struct registry_auth *auth, struct registry_access *ret_access,
                         struct error **err);
void registry_access_clear(struct registry_access *access);

/* For other servers than the registry: sends nothing that only the registry may see. */
struct http_client *registry_auth_elsewhere(struct registry_auth *auth);

/* The registry answered 401 to a request that was sent with this access. www_authenticate is what
 * it said; NULL: what it said before. Afterwards registry_auth_access() gives another one.
 * UNAUTHENTICATED when there is none: it was refused before, or there are no credentials. */
int registry_auth_refused(struct registry_auth *auth, const struct registry_access *access,
                          const char *www_authenticate, struct error **err);

/* What is under way, or begun later, fails with CANCELLED soon. Any thread. */
void registry_auth_cancel(struct registry_auth *auth);

#endif
