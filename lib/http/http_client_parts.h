/* SPDX-License-Identifier: Apache-2.0 */
/* What lib/http itself sees of a client. */
#ifndef LIB_HTTP_HTTP_CLIENT_PARTS_H
#define LIB_HTTP_HTTP_CLIENT_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/buffer.h"
#include "lib/base/error.h"
#include "lib/http/http_client.h"
#include "lib/http/http_pool.h"

struct http_client {
  struct http_options options; /* with the defaults filled in */
  struct buffer trust;         /* PEM; empty: what curl takes by itself */
  struct error *broken;        /* why no request can be made, or NULL */
  struct http_pool pool;
  atomic_bool is_cancelled;
  pthread_mutex_t mutex; /* of the condition */
  pthread_cond_t cancelled;
};

/* Waits so long; false when the client was cancelled meanwhile. */
bool http_client_sleep(struct http_client *client, int64_t ms);
/* Sets the error when the client cannot be used (any more). */
int http_client_check(struct http_client *client, struct error **err);

#endif
