/* SPDX-License-Identifier: Apache-2.0 */
/* What one user's requests share: settings, credentials and open connections. Any number of threads
 * may use a client at once; each gets a connection of its own, which stays open for the next. */
#ifndef LIB_HTTP_HTTP_CLIENT_H
#define LIB_HTTP_HTTP_CLIENT_H

#include <limits.h>
#include <stdbool.h>

#include "lib/base/cleanup.h"

#define HTTP_RETRIES_DEFAULT 8
#define HTTP_RETRIES_NONE UINT_MAX
/* What is meant by http_options.retries. */
static inline unsigned
http_retries_of(unsigned option)
{
  return option == HTTP_RETRIES_NONE ? 0 : option > 0 ? option : HTTP_RETRIES_DEFAULT;
}

/* An attempt, the so-maniest in a row, failed, and is repeated. Called by any thread. */
typedef void http_retry_listener(unsigned attempt, const char *message);

/* How to talk to servers; the strings outlive the client. NULL and 0 mean the default. */
struct http_options {
  const char *ca_bundle; /* PEM file of CAs to trust beside the system's */
  const char *ca_pem;    /* or PEM text of the only ones to trust */
  const char
      *identity_cert_pem; /* PEM text: who we are, for servers that ask for a certificate … */
  const char *identity_key_pem; /* … and the key that proves it */
  const char *proxy;    /* for every request; else as http_proxy, https_proxy and no_proxy say */
  const char *user;     /* basic authentication, where the URL itself names nobody … */
  const char *password; /* … */
  const char *bearer;   /* or a bearer token */
  /* Further headers "Name: value", ends with NULL. As the credentials, they may be secret and go to
   * no other server than the one asked: not along with a redirect. */
  const char *const *headers;
  bool allow_local_addresses; /* those that address_policy.h tells of may be asked */
  unsigned retries;           /* default 8: attempts in a row that may fail beyond the first */
  unsigned retry_first_ms;    /* default 200; doubles up to 10 s, with jitter */
  /* Default 30: so long without a byte, or with less than 1 KiB a second, breaks the transfer,
   * which is retried. */
  unsigned stall_s;
  http_retry_listener *on_retry;
};

struct http_client;

/* A CA bundle that cannot be read fails the first request. */
struct http_client *http_client_new(const struct http_options *options);
/* Nobody uses it any more. */
void http_client_free(struct http_client *client);
DEFINE_CLEANUP(struct http_client *, http_client_free)

/* What is under way, or begun later, fails with CANCELLED within a second. Any thread. */
void http_client_cancel(struct http_client *client);

#endif
