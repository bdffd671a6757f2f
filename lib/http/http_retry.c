/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_retry.h"

#include <sys/random.h>

#include "lib/base/log.h"
#include "lib/http/http_client_parts.h"

#define PAUSE_MAX_MS 10000
/* A server may ask for patience, but not keep us for as long as it likes. */
#define RETRY_AFTER_MAX_MS 30000
/* An attempt that moved so much was a good one. */
#define GAIN_BYTES ((uint64_t)64 << 10)

void
http_retry_gained(struct http_retry *retry, uint64_t bytes)
{
  if (bytes >= GAIN_BYTES)
    retry->failures = 0;
}

bool
http_retry_is_left(const struct http_retry *retry)
{
  return !retry->is_once && retry->failures < retry->client->options.retries;
}

int64_t
http_retry_pause_ms(unsigned first_ms, unsigned failures, uint32_t random)
{
  int64_t pause = first_ms;
  for (unsigned i = 1; i < failures && pause < PAUSE_MAX_MS; i++)
    pause *= 2;
  if (pause > PAUSE_MAX_MS)
    pause = PAUSE_MAX_MS;
  return pause - pause / 2 + (int64_t)(random % (uint64_t)(pause / 2 + 1));
}

static int64_t
pause_of(const struct http_retry *retry, const struct http_failure *failure)
{
  uint32_t random;
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
    random = 0; /* jitter is a courtesy */
  int64_t pause =
      http_retry_pause_ms(retry->client->options.retry_first_ms, retry->failures, random);
  int64_t asked =
      failure->retry_after_ms < RETRY_AFTER_MAX_MS ? failure->retry_after_ms : RETRY_AFTER_MAX_MS;
  return asked > pause ? asked : pause;
}

static void
hand_over(struct error **error, struct error **err)
{
  if (err)
    *err = TAKE(*error);
}

bool
http_retry_again(struct http_retry *retry, const struct http_failure *failure, struct error **error,
                 struct error **err)
{
  retry->failures++;
  bool is_worth = failure->is_transient && !retry->is_once &&
                  retry->failures <= retry->client->options.retries &&
                  retry->failures <= failure->max_retries;
  if (!is_worth) {
    if (failure->is_transient && retry->failures > 1)
      error_add_place(error, "given up after %u attempts", retry->failures);
    hand_over(error, err);
    return false;
  }
  log_debug("attempt %u failed, once more: %s", retry->failures, (*error)->message);
  if (retry->client->options.on_retry)
    retry->client->options.on_retry(retry->failures, (*error)->message);
  if (http_client_sleep(retry->client, pause_of(retry, failure)))
    return true;
  (void)http_client_check(retry->client, err);
  return false;
}
