/* SPDX-License-Identifier: Apache-2.0 */
/* When something that failed is tried again: after a pause that doubles. The time is in the status
 * (retryAt), not in anybody's memory, so it holds behind a restart and for every populator, and
 * whoever looks at the object sees it.
 *
 * Who does not want to wait changes the spec, or gives the object the annotation
 * ANNOTATION_RETRY with a value that it did not have at the last failure (lastRetryRequest). */
#ifndef POPULATOR_OBJECTS_RETRY_H
#define POPULATOR_OBJECTS_RETRY_H

#include "lib/kube/kube_object.h"

/* Whether trying again could help. */
bool retry_may_pass(enum error_code code);

/* Puts the time of the next attempt, behind so many failures, into a status that is to be written.
 * Returns what to tell of it: "attempt 2 failed, the next one is at …: <reason>"; to be freed. */
char *retry_put(const struct kube_object *object, int64_t failures, const char *reason,
                struct json_object *status);
/* A pause of a moment: nothing failed, but others are to see how it is now. */
void retry_pause(const struct kube_object *object, struct json_object *status);
/* It is over, or under way again: there is no next attempt to wait for. */
void retry_clear(const struct kube_object *object, struct json_object *status);

/* How long to wait for the next attempt; 0: it may begin. */
int64_t retry_wait_ms(const struct kube_object *object);
/* Whether somebody asked for another attempt since the last failure. */
bool retry_is_asked(const struct kube_object *object);

#endif
