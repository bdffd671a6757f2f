/* SPDX-License-Identifier: Apache-2.0 */
/* One request that a server was asked: how libmicrohttpd tells of it. */
#ifndef LIB_HTTP_HTTP_CALL_H
#define LIB_HTTP_HTTP_CALL_H

#include <microhttpd.h>

#include "lib/http/http_server.h"

/* Of struct http_server, for its calls. */
struct http_call_rules {
  const struct http_service *service;
  void *context;
  unsigned silence_s;
};

/* The callbacks for MHD_start_daemon(); both with the rules as their first argument. */
enum MHD_Result http_call_handle(void *rules, struct MHD_Connection *connection, const char *path,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_len, void **call);
void http_call_completed(void *rules, struct MHD_Connection *connection, void **call,
                         enum MHD_RequestTerminationCode why);

#endif
