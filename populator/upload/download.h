/* SPDX-License-Identifier: Apache-2.0 */
/* Exports that are kept in the cluster, given to whoever may have them: `GET
 * /v1/namespaces/NS/exports/NAME`. A worker makes the file from the export's snapshot while it is
 * sent, so nothing is stored twice, and any populator can give any export.
 *
 * A client never takes a part for the whole: the end of the body is sent when the worker has ended
 * well and the export is known to have been there until then. */
#ifndef POPULATOR_UPLOAD_DOWNLOAD_H
#define POPULATOR_UPLOAD_DOWNLOAD_H

#include <stdatomic.h>

#include "populator/controllers/populator.h"
#include "populator/upload/exchange.h"
#include "populator/upload/object_watch.h"
#include "populator/upload/upload_request.h"

struct downloads {
  struct populator *populator;
  struct object_watch *watch;
  const char *worker; /* the imprint command */
  unsigned max;       /* at once */
  atomic_uint running;
  atomic_bool is_stopping;
};

/* Answers, whatever comes of it. */
struct exchange *download_begin(struct downloads *downloads, struct http_call *call,
                                const struct upload_request *request);

#endif
