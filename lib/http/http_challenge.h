/* SPDX-License-Identifier: Apache-2.0 */
/* What a server wants to see before it answers: WWW-Authenticate, in which a registry says where
 * its tokens come from. */
#ifndef LIB_HTTP_HTTP_CHALLENGE_H
#define LIB_HTTP_HTTP_CHALLENGE_H

struct http_challenge {
  char *realm; /* NULL where not given, as below */
  char *service;
  char *scope;
};

/* The first challenge of this scheme ("Bearer", "Basic") among those of the field, of which there
 * may be several. -1 when there is none or the field is malformed. */
int http_challenge_find(const char *www_authenticate, const char *scheme,
                        struct http_challenge *ret_challenge);
void http_challenge_clear(struct http_challenge *challenge);

#endif
