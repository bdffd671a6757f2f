/* SPDX-License-Identifier: Apache-2.0 */
/* A small server: plain, or with TLS, whose certificate is read again when its file changes. Each
 * connection has a thread of its own, so whoever serves may wait; so many are let in at once, and
 * one on which nothing happens for a while is dropped. */
#ifndef LIB_HTTP_HTTP_SERVER_H
#define LIB_HTTP_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

struct http_server;
struct http_call; /* one request and its answer */

/* What is served. All are called by the connection's thread. */
struct http_service {
  /* The head of a request is here. Either it is answered, or its body comes by take(). What is
   * returned is handed to the others; it may be NULL. */
  void *(*begin)(void *context, struct http_call *call);
  /* A piece of the body; -1: no more of it is wanted. An answer that was given is told behind the
   * rest, if that is short; else, and without one, the connection is cut. May be NULL: then every
   * request is answered by begin(). */
  int (*take)(void *state, struct http_call *call, const void *data, size_t len);
  /* The body is complete: answers. */
  void (*end)(void *state, struct http_call *call);
  /* The last, whatever came of it, for each state but NULL. May be NULL itself. */
  void (*close)(void *state);
};

struct http_server_options {
  const char *listen;      /* "ADDRESS:PORT"; ":PORT": all addresses; port 0: any that is free */
  const char *certificate; /* file in PEM, with what leads to its CA behind it; NULL: plain HTTP */
  const char *key;         /* file in PEM */
  unsigned max_connections;
  unsigned max_connections_per_address; /* 0: as many as there are */
  unsigned silence_s; /* a client who is waited for in vain for so long is dropped; 0: never */
  const struct http_service *service;
  /* A new certificate cannot be used: the one before stays. */
  void (*warn)(void *context, const char *message);
  void *context;
};

/* The options' strings must outlive it. INVALID_ARGUMENT, or what the system says. */
int http_server_start(const struct http_server_options *options, struct http_server **ret_server,
                      struct error **err);
/* Requests under way are cut off. */
void http_server_stop(struct http_server *server);
DEFINE_CLEANUP(struct http_server *, http_server_stop)
uint16_t http_server_port(const struct http_server *server);

const char *http_call_method(const struct http_call *call);
/* Decoded, without the query. */
const char *http_call_path(const struct http_call *call);
/* NULL when the request has no such field. */
const char *http_call_header(const struct http_call *call, const char *name);
/* Of the answer to come; the strings are copied. */
void http_call_set_header(struct http_call *call, const char *name, const char *value);
/* Once a call. The text is copied. */
void http_call_answer(struct http_call *call, unsigned status, const char *content_type,
                      const char *text);

/* As if the client were gone. By any thread, until the state's close() returns. */
void http_call_cut_off(struct http_call *call);

/* A body of which nobody knows how long it gets. */
struct http_stream_body {
  /* Up to len bytes, 0 behind the last one; -1: the connection is cut, by which the client sees
   * that this is not all. */
  ssize_t (*read)(void *state, void *buf, size_t len);
  void *state;        /* what begin() returns: it lives until close() */
  unsigned silence_s; /* how long read(), or the client, may take for a piece */
};

/* In place of http_call_answer(), by begin(). UNIMPLEMENTED for a client of HTTP/1.0, who could not
 * tell a body that was cut off from a whole one. */
int http_call_answer_stream(struct http_call *call, const char *content_type,
                            const struct http_stream_body *body, struct error **err);

#endif
