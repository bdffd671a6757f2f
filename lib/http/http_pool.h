/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of curl, each with the connections it has open. A thread takes one for as long as it has
 * a transfer under way; the one given back last is taken first, since its connection is the most
 * likely to be open still. Connections are not shared between handles: curl does not support that
 * across threads, and parallel ranges want a connection each anyway. */
#ifndef LIB_HTTP_HTTP_POOL_H
#define LIB_HTTP_HTTP_POOL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stddef.h>

struct http_handle {
  CURL *easy;
  CURLM *multi; /* keeps the connections */
  struct http_handle *next;
};

struct http_pool {
  pthread_mutex_t mutex; /* guards all below */
  struct http_handle *idle;
  size_t idle_count;
};

void http_pool_init(struct http_pool *pool);
void http_pool_clear(struct http_pool *pool);

/* Its options are curl's defaults. */
struct http_handle *http_pool_take(struct http_pool *pool);
/* NULL is fine. */
void http_pool_give(struct http_pool *pool, struct http_handle *handle);

#endif
