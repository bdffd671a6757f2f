/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the parts of an S3 upload, several at a time, while the next one is being filled. A part is
 * kept until the store has it, so it is sent again when that fails; memory is a handful of parts,
 * whatever the size of the object. */
#ifndef POPULATOR_SINK_PART_SENDER_H
#define POPULATOR_SINK_PART_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/http/s3_upload.h"

/* How large the parts must be for an object of at most so many bytes. The same for all parts: some
 * stores want that. */
size_t part_sender_part_bytes(uint64_t object_bytes);

/* How many of such parts are in memory at a time, at most. */
size_t part_sender_rooms(size_t part_bytes);

struct part_sender;

/* The upload must outlive it. One thread uses it. */
struct part_sender *part_sender_new(struct s3_upload *upload, size_t part_bytes);
/* Waits for what is under way. */
void part_sender_free(struct part_sender *sender);

/* Room for a part; waits until there is some. NULL when a part could not be sent. */
char *part_sender_room(struct part_sender *sender, struct error **err);
/* Begins to send what was filled into such a room. */
void part_sender_send(struct part_sender *sender, char *room, unsigned number, size_t len);
/* Waits until all that was sent is with the store. */
int part_sender_drain(struct part_sender *sender, struct error **err);

#endif
