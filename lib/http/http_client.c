/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_client.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/http/http_client_parts.h"
#include "lib/http/http_trust.h"

#define DEFAULT_RETRY_FIRST_MS 200
#define DEFAULT_STALL_S 30

static unsigned
or_default(unsigned value, unsigned otherwise)
{
  return value ? value : otherwise;
}

struct http_client *
http_client_new(const struct http_options *options)
{
  struct http_client *client = xcalloc(1, sizeof(*client));
  client->options = *options;
  client->options.retries = http_retries_of(options->retries);
  client->options.retry_first_ms = or_default(options->retry_first_ms, DEFAULT_RETRY_FIRST_MS);
  client->options.stall_s = or_default(options->stall_s, DEFAULT_STALL_S);
  http_pool_init(&client->pool);
  http_place_init(&client->place);
  (void)pthread_mutex_init(&client->mutex, NULL);
  condition_init(&client->cancelled);
  if (options->ca_pem)
    (void)buffer_append_text(&client->trust, options->ca_pem);
  else if (options->ca_bundle)
    (void)http_trust_load(options->ca_bundle, &client->trust, &client->broken);
  return client;
}

void
http_client_free(struct http_client *client)
{
  if (!client)
    return;
  http_pool_clear(&client->pool);
  http_place_clear(&client->place);
  buffer_clear(&client->trust);
  error_free(client->broken);
  (void)pthread_mutex_destroy(&client->mutex);
  (void)pthread_cond_destroy(&client->cancelled);
  free(client);
}

void
http_client_cancel(struct http_client *client)
{
  MUTEX_GUARD(&client->mutex);
  atomic_store(&client->is_cancelled, true);
  (void)pthread_cond_broadcast(&client->cancelled);
}

bool
http_client_sleep(struct http_client *client, int64_t ms)
{
  struct timespec until = clock_timespec_of_ms(clock_now_ms() + ms);
  MUTEX_GUARD(&client->mutex);
  while (!atomic_load(&client->is_cancelled)) {
    if (pthread_cond_timedwait(&client->cancelled, &client->mutex, &until) != 0)
      return !atomic_load(&client->is_cancelled);
  }
  return false;
}

int
http_client_check(struct http_client *client, struct error **err)
{
  if (client->broken)
    return error_set(err, client->broken->code, "%s", client->broken->message);
  if (atomic_load(&client->is_cancelled))
    return error_set(err, ERROR_CANCELLED, "the transfer was cancelled");
  return 0;
}
