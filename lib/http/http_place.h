/* SPDX-License-Identifier: Apache-2.0 */
/* Where the redirects of a file led. A redirector may send every question to another mirror, and
 * what two mirrors say of their versions of a file (ETag, Last-Modified) is seldom the same; so
 * whoever goes on with a file asks where it was found, and not the redirector again. A place that
 * is not good any more (a signed URL that expired) is forgotten.
 *
 * One file a client: that is what a client is made for. Any thread. */
#ifndef LIB_HTTP_HTTP_PLACE_H
#define LIB_HTTP_HTTP_PLACE_H

#include <pthread.h>
#include <stdbool.h>

struct http_place {
  pthread_mutex_t mutex; /* guards all below */
  char *from;            /* NULL: none is known */
  char *to;
  bool is_trusted;
};

void http_place_init(struct http_place *place);
void http_place_clear(struct http_place *place);

/* The URL that `from` led to, to be freed, NULL when it is not known; *ret_is_trusted tells whether
 * what was meant for the server of `from` may be sent there. */
char *http_place_find(struct http_place *place, const char *from, bool *ret_is_trusted);
void http_place_keep(struct http_place *place, const char *from, const char *to, bool is_trusted);
/* Unless another one was found meanwhile. */
void http_place_forget(struct http_place *place, const char *to);

#endif
