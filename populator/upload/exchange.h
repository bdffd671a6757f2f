/* SPDX-License-Identifier: Apache-2.0 */
/* What the server keeps of a request while it lasts: an upload, or a download. */
#ifndef POPULATOR_UPLOAD_EXCHANGE_H
#define POPULATOR_UPLOAD_EXCHANGE_H

#include "lib/http/http_server.h"

struct exchange;

/* As those of struct http_service. One that has no body to take is answered when it begins, and
 * has neither take() nor end(). */
struct exchange_ops {
  int (*take)(struct exchange *exchange, struct http_call *call, const void *data, size_t len);
  void (*end)(struct exchange *exchange, struct http_call *call);
  void (*close)(struct exchange *exchange);
};

/* First member of both. */
struct exchange {
  const struct exchange_ops *ops;
};

#endif
