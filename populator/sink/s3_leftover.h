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

/* Aborts what the record tells of. An error names the upload that is left, or says that it is not
 * known which one that is. */
int s3_leftover_discard(const char *record, const struct s3_place *place, struct error **err);
/* Aborts what the ledger tells of, and writes down that an upload is about to begin. A store that
 * does not answer is left alone: the record stays. What was written is to be freed; NULL when it is
 * not known who else has begun something. */
char *s3_leftover_begin(struct sink_ledger *ledger, const struct s3_place *place);
/* The upload has this id, but was begun more than once: aborts what is neither it nor was there
 * when that was written. */
void s3_leftover_abort_twins(const char *begun, const struct s3_place *place, const char *id);
/* The upload has this id. */
void s3_leftover_note(struct sink_ledger *ledger, const char *id);

#endif
