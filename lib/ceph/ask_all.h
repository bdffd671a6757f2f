/* SPDX-License-Identifier: Apache-2.0 */
/* One question to many locations at once: it takes as long as one. */
#ifndef LIB_CEPH_ASK_ALL_H
#define LIB_CEPH_ASK_ALL_H

#include "lib/ceph/location.h"

/* Room that each question has for its answer. */
#define ASK_ALL_ANSWER_MAX 256

/* Starts the asynchronous call that asks one location; the answer may be written to `answer`. */
typedef void ask_all_start(struct location *location, rados_completion_t completion,
                           const void *question, char answer[ASK_ALL_ANSWER_MAX]);

/* The index of the first location whose call succeeded, -1 when none did. One that does not answer
 * counts as not having it. */
int ask_all(const struct locations *locations, ask_all_start *start, const void *question);

#endif
