/* SPDX-License-Identifier: Apache-2.0 */
/* What an export into an S3 store has begun, written into the ledger, and how the next export to
 * the same object takes it back when the first one died.
 *
 * The upload's id is written down as soon as the store has told it. A process may die between the
 * two; so before that the uploads are written down that were there already, by others: what is
 * there later and not among them is ours. */
#ifndef POPULATOR_SINK_S3_LEFTOVER_H
#define POPULATOR_SINK_S3_LEFTOVER_H

#include "populator/sink/sink.h"

struct s3_place {
  struct http_client *client;
  const struct s3_options *options;
  const char *bucket;
  const char *key;
};

/* Aborts what the ledger tells of, and writes down that an upload is about to begin. A store that
 * does not answer is left alone: the record stays. */
void s3_leftover_begin(struct sink_ledger *ledger, const struct s3_place *place);
/* The upload has this id. */
void s3_leftover_note(struct sink_ledger *ledger, const char *id);

#endif
