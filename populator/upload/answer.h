/* SPDX-License-Identifier: Apache-2.0 */
/* What clients are told, in JSON. */
#ifndef POPULATOR_UPLOAD_ANSWER_H
#define POPULATOR_UPLOAD_ANSWER_H

#include "lib/http/http_server.h"
#include "lib/kube/json.h"

/* Takes the object. */
void answer_json(struct http_call *call, unsigned status, struct json_object *object);
/* {"error": "NOT_FOUND", "message": "…"}, with the status that the code stands for. `methods` are
 * those that there are. */
void answer_error(struct http_call *call, const char *methods, const struct error *failure);

#endif
