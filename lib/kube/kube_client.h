/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the API server. One pool of connections, any number of threads.
 *
 * What the server refuses becomes an error by its reason: NotFound NOT_FOUND, AlreadyExists
 * ALREADY_EXISTS, Conflict ABORTED, Expired and Gone OUT_OF_RANGE, Invalid and BadRequest
 * INVALID_ARGUMENT, Forbidden PERMISSION_DENIED, Unauthorized UNAUTHENTICATED, everything that may
 * pass UNAVAILABLE. The message is the server's own. */
#ifndef LIB_KUBE_KUBE_CLIENT_H
#define LIB_KUBE_KUBE_CLIENT_H

#include "lib/http/http.h"
#include "lib/kube/json.h"
#include "lib/kube/kube_config.h"
#include "lib/kube/kube_kind.h"

#define KUBE_FIELD_MANAGER "imprint"

struct kube_client;

/* The config must outlive it. */
struct kube_client *kube_client_new(const struct kube_config *config);
void kube_client_free(struct kube_client *client);
/* Every request under way, and every later one, fails with CANCELLED soon. */
void kube_client_cancel(struct kube_client *client);
/* Waits so long; false when it was cancelled meanwhile. */
bool kube_client_sleep(struct kube_client *client, int64_t ms);
/* The namespace of the credentials. */
const char *kube_client_namespace(const struct kube_client *client);

struct kube_request {
  const char *method; /* NULL: GET */
  const char *path;
  const char *query;        /* without "?"; NULL: none */
  const char *content_type; /* of the body; NULL: application/json */
  struct json_object *body; /* NULL: none */
};

/* ret_answer may be NULL. Reading is tried again after failures that may pass; what changes
 * something is tried once, except when the server says that it did not do it (429, 503): the caller
 * looks at the state and decides. */
int kube_client_send(struct kube_client *client, const struct kube_request *request,
                     struct json_object **ret_answer, struct error **err);

/* An answer without end. *ret_feed is never NULL after 0. */
struct kube_feed;
int kube_feed_open(struct kube_client *client, const char *path, const char *query,
                   unsigned silence_s, struct kube_feed **ret_feed, struct error **err);
ssize_t kube_feed_read(struct kube_feed *feed, void *buf, size_t len, struct error **err);
void kube_feed_close(struct kube_feed *feed);
DEFINE_CLEANUP(struct kube_feed *, kube_feed_close)

/* A Status object of the server as an error. Returns -1. */
int kube_status_error(struct json_object *status, long http_status, struct error **err);

#endif
