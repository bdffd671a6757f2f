/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that something is to be done about. A key waits at most once, is never worked on by two
 * threads at a time, and is worked on again when it was added meanwhile. What fails comes again
 * after a pause that doubles with each failure in a row. */
#ifndef LIB_BASE_WORK_QUEUE_H
#define LIB_BASE_WORK_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* What work() answers beside a number of milliseconds after which the key comes again by itself. */
#define WORK_DONE (-1)
#define WORK_FAILED (-2)

struct work_queue_options {
  const char *name; /* of its threads; not copied */
  size_t threads;
  unsigned retry_first_ms; /* 0: 500 */
  unsigned retry_max_ms;   /* 0: five minutes */
  int64_t (*work)(void *context, const char *key);
  void *context;
};

struct work_queue;

struct work_queue *work_queue_new(const struct work_queue_options *options);
/* From now on keys are worked on; they can be added before. */
void work_queue_start(struct work_queue *queue);
/* Any thread. */
void work_queue_add(struct work_queue *queue, const char *key);
void work_queue_add_after(struct work_queue *queue, const char *key, int64_t delay_ms);
/* How many keys wait for their turn now, and how many failures in a row a key has behind it. */
size_t work_queue_waiting(struct work_queue *queue);
unsigned work_queue_failures(struct work_queue *queue, const char *key);
/* Waits for what is being worked on; what waits is dropped. Then it may be freed. */
void work_queue_stop(struct work_queue *queue);
void work_queue_free(struct work_queue *queue);

#endif
