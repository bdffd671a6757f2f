/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_pool.h"

#include <stdlib.h>

#include "lib/base/lock.h"
#include "lib/base/memory.h"

/* More are closed when they come back. */
#define MAX_IDLE 64
/* A redirect takes two servers. */
#define CONNECTIONS_A_HANDLE 4

static void
global_init(void)
{
  (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

void
http_pool_init(struct http_pool *pool)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, global_init);
  *pool = (struct http_pool){0};
  (void)pthread_mutex_init(&pool->mutex, NULL);
}

static struct http_handle *
handle_new(void)
{
  struct http_handle *handle = xcalloc(1, sizeof(*handle));
  handle->easy = curl_easy_init();
  handle->multi = curl_multi_init();
  if (!handle->easy || !handle->multi)
    abort(); /* out of memory */
  (void)curl_multi_setopt(handle->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_A_HANDLE);
  return handle;
}

static void
handle_free(struct http_handle *handle)
{
  curl_easy_cleanup(handle->easy);
  curl_multi_cleanup(handle->multi);
  free(handle);
}

void
http_pool_clear(struct http_pool *pool)
{
  while (pool->idle) {
    struct http_handle *handle = pool->idle;
    pool->idle = handle->next;
    handle_free(handle);
  }
  (void)pthread_mutex_destroy(&pool->mutex);
}

struct http_handle *
http_pool_take(struct http_pool *pool)
{
  {
    MUTEX_GUARD(&pool->mutex);
    struct http_handle *handle = pool->idle;
    if (handle) {
      pool->idle = handle->next;
      pool->idle_count--;
      return handle;
    }
  }
  return handle_new();
}

void
http_pool_give(struct http_pool *pool, struct http_handle *handle)
{
  if (!handle)
    return;
  curl_easy_reset(handle->easy);
  {
    MUTEX_GUARD(&pool->mutex);
    if (pool->idle_count < MAX_IDLE) {
      handle->next = pool->idle;
      pool->idle = handle;
      pool->idle_count++;
      return;
    }
  }
  handle_free(handle);
}
