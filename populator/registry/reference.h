/* SPDX-License-Identifier: Apache-2.0 */
/* Which image of which registry: docker://HOST[:PORT]/REPOSITORY[:TAG][@DIGEST].
 *
 * A host is always needed: nothing is looked up at a registry that the user did not name. The first
 * part is the host, whatever it looks like. */
#ifndef POPULATOR_REGISTRY_REFERENCE_H
#define POPULATOR_REGISTRY_REFERENCE_H

#include "lib/base/error.h"

#define REFERENCE_SCHEME "docker://"

struct reference {
  char *host;       /* with its port: "registry.example:5000", "[::1]:5000" */
  char *repository; /* "disks/fedora" */
  char *tag;        /* NULL when the URL has none */
  char *digest;     /* "sha256:…", which counts more than a tag; NULL when the URL has none */
};

int reference_parse(const char *url, struct reference *ret_reference, struct error **err);
void reference_clear(struct reference *reference);

/* What a manifest is asked for by: the digest, the tag, or "latest". */
const char *reference_version(const struct reference *reference);
/* The URL in full, to be freed. */
char *reference_url(const struct reference *reference);

#endif
