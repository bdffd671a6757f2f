/* SPDX-License-Identifier: Apache-2.0 */
/* One repository of a registry, by the distribution API (version 2). Any number of threads. */
#ifndef POPULATOR_REGISTRY_REGISTRY_CLIENT_H
#define POPULATOR_REGISTRY_REGISTRY_CLIENT_H

#include "lib/base/buffer.h"
#include "lib/http/http.h"
#include "populator/registry/oci_manifest.h"
#include "populator/registry/reference.h"
#include "populator/registry/registry_auth.h"

struct registry_client;

/* Asks the registry whether it is one and what it wants to see. actions: "pull" or "pull,push". */
int registry_client_open(const struct reference *reference, const struct registry_options *options,
                         const char *actions, struct registry_client **ret_client,
                         struct error **err);
void registry_client_close(struct registry_client *client);
DEFINE_CLEANUP(struct registry_client *, registry_client_close)

struct registry_auth *registry_client_auth(struct registry_client *client);
/* The URL of what belongs to the repository, "blobs/sha256:…". To be freed. */
char *registry_client_url(const struct registry_client *client, const char *rest);

/* How long to wait after a first failure, as the options say. */
unsigned registry_client_retry_ms(const struct registry_client *client);

/* http_send() with whatever the registry wants to see; a refusal is answered with a new token once.
 * To another server than the registry (where an upload goes) no credentials are sent. */
int registry_client_send(struct registry_client *client, const struct http_request *request,
                         struct http_response *ret_response, struct error **err);

/* A manifest, or an index of them, as it was received. */
struct registry_document {
  struct buffer body;
  char *media_type; /* as the registry says; NULL: it does not */
  char *digest;     /* of the body: "sha256:…", or what it was asked for by */
};

/* version: a tag or a digest; a body that is not what a digest names, be it the given one or the
 * one the registry says, is DATA_LOSS. */
int registry_client_manifest(struct registry_client *client, const char *version,
                             struct registry_document *ret_document, struct error **err);
void registry_document_clear(struct registry_document *document);
/* The digest of what a tag stands for, without reading it where the registry says it. */
int registry_client_resolve(struct registry_client *client, const char *version, char **ret_digest,
                            struct error **err);
/* A small blob, checked. */
int registry_client_blob(struct registry_client *client, const struct oci_descriptor *blob,
                         struct buffer *ret_body, struct error **err);
/* All tags of the repository, sorted, in an array that ends with NULL. */
int registry_client_tags(struct registry_client *client, char ***ret_tags, struct error **err);
void registry_tags_free(char **tags);

#endif
