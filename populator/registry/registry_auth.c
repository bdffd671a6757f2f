/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/registry_auth.h"

#include <json-c/json.h>
#include <pthread.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/http_url.h"
#include "populator/registry/auth_file.h"
#include "populator/registry/document.h"

#define TOKEN_BYTES_MAX ((uint64_t)1 << 20)
/* What the specification says where the server does not. */
#define TOKEN_LIFE_S 60
#define TOKEN_LIFE_MAX_S 86400

enum auth_kind {
  AUTH_NONE,   /* as long as the registry does not ask */
  AUTH_BASIC,  /* user and password with each request */
  AUTH_BEARER, /* a token */
};

struct registry_auth {
  char *scopes; /* as part of a query: "scope=…" */
  bool insecure;
  struct credentials credentials;
  /* The strings that these borrow are the options' and the credentials'. */
  struct http_client *plain; /* sends none of the credentials */
  struct http_client *basic; /* sends user and password; NULL without any */
  struct http_client *token; /* asks for tokens: user and password, but not the further headers */
  struct http_client *elsewhere; /* sends nothing that is meant for the registry */

  pthread_mutex_t mutex; /* guards all below */
  enum auth_kind kind;
  unsigned revision;
  char *realm; /* of the token server */
  char *service;
  char *bearer;
  int64_t expires_ms;
};

/* ---- life --------------------------------------------------------------------------------------
 */

/* The user's own words count more than a file. */
static int
find_credentials(struct registry_auth *auth, const struct reference *reference,
                 const struct registry_options *options, struct error **err)
{
  const struct http_options *http = &options->http;
  auth->credentials.user = xstrdup(http->user);
  auth->credentials.password = http->user ? xstrdup(http->password ? http->password : "") : NULL;
  auth->credentials.registry_token = xstrdup(http->bearer);
  if (http->user || http->bearer || !options->auth_file)
    return 0;
  credentials_clear(&auth->credentials);
  return auth_file_read(options->auth_file, reference, &auth->credentials, err);
}

static void
make_clients(struct registry_auth *auth, const struct http_options *options)
{
  struct http_options http = *options;
  http.user = http.password = http.bearer = NULL;
  auth->plain = http_client_new(&http);
  http.user = auth->credentials.user;
  http.password = auth->credentials.password;
  if (http.user)
    auth->basic = http_client_new(&http);
  http.headers = NULL;
  auth->token = http_client_new(&http);
  http.user = http.password = NULL;
  auth->elsewhere = http_client_new(&http);
}

static char *
make_scopes(const struct reference *reference, const char *actions, const char *mount_from)
{
  CLEANUP(freep) char *own = xasprintf("repository:%s:%s", reference->repository, actions);
  CLEANUP(freep) char *encoded = http_url_encode(own, false);
  if (!mount_from)
    return xasprintf("scope=%s", encoded);
  CLEANUP(freep) char *other = xasprintf("repository:%s:pull", mount_from);
  CLEANUP(freep) char *other_encoded = http_url_encode(other, false);
  return xasprintf("scope=%s&scope=%s", encoded, other_encoded);
}

int
registry_auth_new(const struct reference *reference, const struct registry_options *options,
                  const char *actions, struct registry_auth **ret_auth, struct error **err)
{
  CLEANUP(registry_auth_freep) struct registry_auth *auth = xcalloc(1, sizeof(*auth));
  (void)pthread_mutex_init(&auth->mutex, NULL);
  auth->insecure = options->insecure;
  if (find_credentials(auth, reference, options, err) < 0)
    return -1;
  auth->scopes = make_scopes(reference, actions, options->mount_from);
  make_clients(auth, &options->http);
  *ret_auth = TAKE(auth);
  return 0;
}

static void
forget_token(struct registry_auth *auth)
{
  free(auth->bearer);
  auth->bearer = NULL;
}

void
registry_auth_free(struct registry_auth *auth)
{
  if (!auth)
    return;
  http_client_free(auth->plain);
  http_client_free(auth->basic);
  http_client_free(auth->token);
  http_client_free(auth->elsewhere);
  credentials_clear(&auth->credentials);
  forget_token(auth);
  free(auth->realm);
  free(auth->service);
  free(auth->scopes);
  (void)pthread_mutex_destroy(&auth->mutex);
  free(auth);
}

void
registry_auth_cancel(struct registry_auth *auth)
{
  http_client_cancel(auth->plain);
  http_client_cancel(auth->token);
  http_client_cancel(auth->elsewhere);
  if (auth->basic)
    http_client_cancel(auth->basic);
}

/* ---- tokens ------------------------------------------------------------------------------------
 */

/* {"token": "…", "expires_in": 300}, or "access_token" in place of "token". */
static int
take_token(struct registry_auth *auth, const struct buffer *body, struct error **err)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  const char *token, *access_token;
  if (document_parse(body->data, body->len, &document, err) < 0 ||
      document_string(document, "token", &token, err) < 0 ||
      document_string(document, "access_token", &access_token, err) < 0)
    return -1;
  const char *bearer = token && *token ? token : access_token;
  if (!bearer || !*bearer)
    return error_set(err, ERROR_UNAUTHENTICATED, "the answer has no token in it");
  uint64_t life_s = TOKEN_LIFE_S;
  struct json_object *given;
  if (json_object_object_get_ex(document, "expires_in", &given) && json_object_get_int64(given) > 0)
    life_s = (uint64_t)json_object_get_int64(given);
  if (life_s > TOKEN_LIFE_MAX_S)
    life_s = TOKEN_LIFE_MAX_S;
  free(auth->bearer);
  auth->bearer = xstrdup(bearer);
  auth->expires_ms = clock_now_ms() + (int64_t)life_s * 900; /* a tenth is for clocks and ways */
  return 0;
}

/* What the URL of the token server ends with, or the body of a request has. */
static char *
token_query(const struct registry_auth *auth)
{
  CLEANUP(freep) char *service = http_url_encode(auth->service ? auth->service : "", false);
  return xasprintf("%s%s%s%s", *service ? "service=" : "", service, *service ? "&" : "",
                   auth->scopes);
}

static int
send_for_token(struct registry_auth *auth, struct http_response *response, struct error **err)
{
  CLEANUP(freep) char *query = token_query(auth);
  CLEANUP(freep) char *url = NULL;
  CLEANUP(freep) char *body = NULL;
  struct http_request request = {.max_body = TOKEN_BYTES_MAX};
  static const char *const form[] = {"Content-Type: application/x-www-form-urlencoded", NULL};
  if (auth->credentials.identity_token) {
    CLEANUP(freep) char *identity = http_url_encode(auth->credentials.identity_token, false);
    body = xasprintf("grant_type=refresh_token&client_id=imprint&refresh_token=%s&%s", identity,
                     query);
    request.method = "POST";
    request.url = auth->realm;
    request.headers = form;
    request.body = body;
    request.body_len = strlen(body);
  } else {
    url = xasprintf("%s%c%s", auth->realm, strchr(auth->realm, '?') ? '&' : '?', query);
    request.url = url;
  }
  if (http_send(auth->token, &request, response, err) < 0)
    return -1;
  return response->status == 200 ? 0 : http_status_error(&request, response, err);
}

static int
fetch_token(struct registry_auth *auth, struct error **err)
{
  CLEANUP(http_response_clear) struct http_response response = {0};
  if (send_for_token(auth, &response, err) < 0 || take_token(auth, &response.body, err) < 0)
    return error_wrap(err, "ask for a token");
  return 0;
}

/* ---- what the registry asks for ----------------------------------------------------------------
 */

static bool
same(const char *a, const char *b)
{
  return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A registry that is spoken to over TLS must not have the password sent in the clear elsewhere. */
static int
take_bearer_challenge(struct registry_auth *auth, const struct http_challenge *challenge,
                      struct error **err)
{
  struct http_url url = {0};
  if (!challenge->realm || http_url_parse(challenge->realm, &url, err) < 0)
    return challenge->realm ? error_wrap(err, "the registry names its token server")
                            : error_set(err, ERROR_UNAUTHENTICATED,
                                        "the registry wants a token and does not say whose");
  bool is_tls = url.is_tls;
  http_url_clear(&url);
  if (!is_tls && !auth->insecure)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "the registry wants a token from a server without TLS");
  free(auth->realm);
  free(auth->service);
  auth->realm = xstrdup(challenge->realm);
  auth->service = xstrdup(challenge->service);
  auth->kind = AUTH_BEARER;
  forget_token(auth);
  return 0;
}

static int
refused(const struct registry_auth *auth, struct error **err)
{
  bool has_any = auth->credentials.user || auth->credentials.identity_token ||
                 auth->credentials.registry_token;
  return error_set(err, ERROR_UNAUTHENTICATED,
                   has_any ? "the registry refuses the credentials it was given"
                           : "the registry wants credentials and none were given: --user or "
                             "--auth-file names them (secretRef in Kubernetes)");
}

static int
take_challenge(struct registry_auth *auth, const char *www_authenticate, struct error **err)
{
  CLEANUP(http_challenge_clear) struct http_challenge challenge = {0};
  if (!www_authenticate)
    return auth->kind == AUTH_BEARER ? (forget_token(auth), 0) : refused(auth, err);
  if (http_challenge_find(www_authenticate, "Bearer", &challenge) == 0)
    return take_bearer_challenge(auth, &challenge, err);
  if (http_challenge_find(www_authenticate, "Basic", &challenge) == 0 && auth->kind != AUTH_BASIC &&
      auth->basic) {
    auth->kind = AUTH_BASIC;
    return 0;
  }
  return refused(auth, err);
}

int
registry_auth_refused(struct registry_auth *auth, const struct registry_access *access,
                      const char *www_authenticate, struct error **err)
{
  MUTEX_GUARD(&auth->mutex);
  if (access->revision != auth->revision)
    return 0; /* another thread was refused before, and has seen to it */
  if (auth->credentials.registry_token && same(access->bearer, auth->credentials.registry_token))
    return refused(auth, err);
  if (take_challenge(auth, www_authenticate, err) < 0)
    return -1;
  auth->revision++;
  return 0;
}

int
registry_auth_access(struct registry_auth *auth, struct registry_access *ret_access,
                     struct error **err)
{
  MUTEX_GUARD(&auth->mutex);
  struct registry_access access = {.http = auth->plain, .revision = auth->revision};
  if (auth->credentials.registry_token) {
    access.bearer = xstrdup(auth->credentials.registry_token);
  } else if (auth->kind == AUTH_BASIC) {
    access.http = auth->basic;
  } else if (auth->kind == AUTH_BEARER) {
    if ((!auth->bearer || clock_now_ms() >= auth->expires_ms) && fetch_token(auth, err) < 0)
      return -1;
    access.bearer = xstrdup(auth->bearer);
  }
  *ret_access = access;
  return 0;
}

struct http_client *
registry_auth_elsewhere(struct registry_auth *auth)
{
  return auth->elsewhere;
}

void
registry_access_clear(struct registry_access *access)
{
  free(access->bearer);
  *access = (struct registry_access){0};
}
