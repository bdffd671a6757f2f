/* SPDX-License-Identifier: Apache-2.0 */
/* Which image of which registry: docker://[HOST[:PORT]/]REPOSITORY[:TAG][@DIGEST].
 *
 * Who is meant by a short name is what it is for Docker and everybody else: the first part is a
 * host if it has a point, a port or an upper-case letter in it or is "localhost", and a name at
 * Docker Hub otherwise.
 *
 * Docker Hub is named docker.io by everybody, and answers elsewhere. What it publishes itself has
 * no owner in its name, and "library" in its path. */
#ifndef POPULATOR_REGISTRY_REFERENCE_H
#define POPULATOR_REGISTRY_REFERENCE_H

#include "lib/base/error.h"

#define REFERENCE_SCHEME "docker://"
#define REFERENCE_HUB "docker.io"
/* The other name of it, in files of credentials. */
#define REFERENCE_HUB_INDEX "index.docker.io"

struct reference {
  char *host;       /* with its port: "registry.example:5000", "[::1]:5000", "docker.io" */
  char *repository; /* "disks/fedora" */
  char *tag;        /* NULL when the URL has none */
  char *digest;     /* "sha256:…", which counts more than a tag; NULL when the URL has none */
};

int reference_parse(const char *url, struct reference *ret_reference, struct error **err);
void reference_clear(struct reference *reference);

/* Who is asked: the host, or whoever answers for it. */
const char *reference_server(const struct reference *reference);
/* What a manifest is asked for by: the digest, the tag, or "latest". */
const char *reference_version(const struct reference *reference);
/* The URL in full, to be freed. */
char *reference_url(const struct reference *reference);

#endif
