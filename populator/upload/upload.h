/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are sent, `PUT /v1/namespaces/NS/images/NAME` and `…/datavolumes/NAME`, and the
 * question how far one is, `GET` and `HEAD`. Whoever sends needs the right to update
 * virtualmachineimages/upload, or datavolumes/upload, in the namespace, and is told nothing before
 * that is known. */
#ifndef POPULATOR_UPLOAD_UPLOAD_H
#define POPULATOR_UPLOAD_UPLOAD_H

#include <stdatomic.h>

#include "populator/upload/exchange.h"
#include "populator/upload/object_watch.h"
#include "populator/upload/upload_session.h"

struct uploads {
  struct populator *populator;
  struct object_watch *watch;
  struct upload_sessions sessions;
  uint64_t max_bytes; /* of a file */
  unsigned max;       /* at once */
  atomic_uint running;
};

/* Answers, or takes the body then: NULL when there is none to be taken. */
struct exchange *upload_begin(struct uploads *uploads, struct http_call *call,
                              const struct upload_request *request);

#endif
