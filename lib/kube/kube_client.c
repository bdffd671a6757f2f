/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_client.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/kube/kube_token.h"

/* The work queue has longer breath; here only hiccups are bridged. */
#define RETRIES 3
/* A list of all objects of a kind comes in pages much smaller than that. */
#define ANSWER_MAX_BYTES ((uint64_t)64 << 20)

struct kube_client {
  const struct kube_config *config;
  struct http_client *http;
  struct kube_token *token;
  pthread_mutex_t mutex; /* of the condition */
  pthread_cond_t cancelled;
  bool is_cancelled;
};

struct kube_feed {
  char *url;
  char *bearer;
  struct http_request request;
  struct http_feed *http;
};

struct kube_client *
kube_client_new(const struct kube_config *config)
{
  struct kube_client *client = xcalloc(1, sizeof(*client));
  const struct http_options options = {
      .ca_pem = config->ca_pem,
      .identity_cert_pem = config->cert_pem,
      .identity_key_pem = config->key_pem,
      .allow_local_addresses = true, /* the operator's own server, wherever it is */
      .retries = RETRIES,
  };
  client->config = config;
  client->http = http_client_new(&options);
  client->token = kube_token_new(config);
  (void)pthread_mutex_init(&client->mutex, NULL);
  condition_init(&client->cancelled);
  return client;
}

void
kube_client_free(struct kube_client *client)
{
  if (!client)
    return;
  http_client_free(client->http);
  kube_token_free(client->token);
  (void)pthread_mutex_destroy(&client->mutex);
  (void)pthread_cond_destroy(&client->cancelled);
  free(client);
}

void
kube_client_cancel(struct kube_client *client)
{
  http_client_cancel(client->http);
  MUTEX_GUARD(&client->mutex);
  client->is_cancelled = true;
  (void)pthread_cond_broadcast(&client->cancelled);
}

bool
kube_client_sleep(struct kube_client *client, int64_t ms)
{
  struct timespec until = clock_timespec_of_ms(clock_now_ms() + ms);
  MUTEX_GUARD(&client->mutex);
  while (!client->is_cancelled &&
         pthread_cond_timedwait(&client->cancelled, &client->mutex, &until) == 0)
    ;
  return !client->is_cancelled;
}

const char *
kube_client_namespace(const struct kube_client *client)
{
  return client->config->ns;
}

static char *
url_of(const struct kube_client *client, const char *path, const char *query)
{
  return xasprintf("%s%s%s%s", client->config->server, path, query ? "?" : "", query ? query : "");
}

static int
answer_of(const struct http_response *response, struct json_object **ret_answer, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *answer = NULL;
  bool is_json = response->body.len > 0 &&
                 json_parse(response->body.data, response->body.len, &answer, NULL) == 0;
  if (response->status / 100 != 2)
    return kube_status_error(answer, response->status, err);
  if (!is_json)
    return error_set(err, ERROR_UNAVAILABLE, "the API server's answer is not JSON");
  if (ret_answer)
    *ret_answer = TAKE(answer);
  return 0;
}

/* One try with the token as it is now. */
static int
send_once(struct kube_client *client, const struct http_request *request,
          struct json_object **ret_answer, struct error **err)
{
  CLEANUP(freep) char *bearer = NULL;
  if (kube_token_get(client->token, &bearer, err) < 0)
    return -1;
  struct http_request with_token = *request;
  with_token.bearer = bearer;
  struct http_response response = {0};
  if (http_send(client->http, &with_token, &response, err) < 0)
    return -1;
  if (response.status == 401)
    kube_token_refused(client->token);
  int r = answer_of(&response, ret_answer, err);
  http_response_clear(&response);
  return r;
}

int
kube_client_send(struct kube_client *client, const struct kube_request *request,
                 struct json_object **ret_answer, struct error **err)
{
  CLEANUP(freep) char *url = url_of(client, request->path, request->query);
  CLEANUP(freep)
  char *type = xasprintf("Content-Type: %s",
                         request->content_type ? request->content_type : "application/json");
  const char *headers[] = {"Accept: application/json", request->body ? type : NULL, NULL};
  const char *body =
      request->body ? json_object_to_json_string_ext(request->body, JSON_C_TO_STRING_PLAIN) : NULL;
  bool is_reading = !request->method || strcmp(request->method, "GET") == 0;
  const struct http_request http = {
      .method = request->method,
      .url = url,
      .headers = headers,
      .body = body,
      .body_len = body ? strlen(body) : 0,
      .max_body = ANSWER_MAX_BYTES,
      .is_retried_by_caller = !is_reading,
  };
  CLEANUP(error_freep) struct error *failure = NULL;
  if (send_once(client, &http, ret_answer, &failure) == 0)
    return 0;
  /* An expired token: the file may have a newer one by now. */
  if (failure->code == ERROR_UNAUTHENTICATED && client->config->token_file) {
    if (send_once(client, &http, ret_answer, err) == 0)
      return 0;
  } else {
    error_make(err, failure->code, "%s", failure->message);
  }
  return error_wrap(err, "%s %s", request->method ? request->method : "GET", request->path);
}

int
kube_feed_open(struct kube_client *client, const char *path, const char *query, unsigned silence_s,
               struct kube_feed **ret_feed, struct error **err)
{
  static const char *const headers[] = {"Accept: application/json", NULL};
  CLEANUP(kube_feed_closep) struct kube_feed *feed = xcalloc(1, sizeof(*feed));
  if (kube_token_get(client->token, &feed->bearer, err) < 0)
    return -1;
  feed->url = url_of(client, path, query);
  feed->request = (struct http_request){.url = feed->url,
                                        .headers = headers,
                                        .bearer = feed->bearer,
                                        .stall_s = silence_s,
                                        .may_idle = true};
  struct http_response response;
  if (http_feed_open(client->http, &feed->request, &feed->http, &response, err) < 0)
    return error_wrap(err, "watch %s", path);
  if (response.status == 401)
    kube_token_refused(client->token);
  int r = feed->http ? 0 : answer_of(&response, NULL, err);
  http_response_clear(&response);
  if (r < 0)
    return error_wrap(err, "watch %s", path);
  *ret_feed = TAKE(feed);
  return 0;
}

ssize_t
kube_feed_read(struct kube_feed *feed, void *buf, size_t len, struct error **err)
{
  return http_feed_read(feed->http, buf, len, err);
}

void
kube_feed_close(struct kube_feed *feed)
{
  if (!feed)
    return;
  http_feed_close(feed->http);
  free(feed->url);
  free(feed->bearer);
  free(feed);
}
