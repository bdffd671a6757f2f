/* SPDX-License-Identifier: Apache-2.0 */
/* What clients are told, in JSON. */
#ifndef POPULATOR_UPLOAD_ANSWER_H
#define POPULATOR_UPLOAD_ANSWER_H

#include "lib/http/http_server.h"
#include "lib/kube/json.h"

/* Takes the object. */
void answer_json(struct http_call *call, unsigned status, struct json_object *object);
/* {"error": "NOT_FOUND", "message": "…"}, with the status that the code stands for; what may pass
 * says when to try again. `methods` are those that there are. */
void answer_error(struct http_call *call, const char *methods, const struct error *failure);
/* The same with another status. */
void answer_error_as(struct http_call *call, unsigned status, const char *methods,
                     const struct error *failure);
/* A field of the head, for the answer to come. */
void answer_number(struct http_call *call, const char *name, uint64_t value);

#endif
