/* SPDX-License-Identifier: Apache-2.0 */
/* What was said or done lately, so that it is not said or done twice in a row. It remembers so many
 * texts at most: of more, the oldest is forgotten, which costs a repetition and nothing else. Any
 * thread. */
#ifndef LIB_BASE_RECENT_H
#define LIB_BASE_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/cleanup.h"

struct recent;

struct recent *recent_new(size_t count, int64_t lasts_ms);
void recent_free(struct recent *recent);
DEFINE_CLEANUP(struct recent *, recent_free)

/* From now on it is remembered; false when it was already. */
bool recent_add(struct recent *recent, const char *text);
/* For how long it will still be remembered; 0: it is not. */
int64_t recent_left_ms(struct recent *recent, const char *text);
void recent_drop(struct recent *recent, const char *text);

#endif
