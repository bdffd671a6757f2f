/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is sent to us, in pieces, on a pipe: upload:FD:SIZE:NAME. The name tells it from
 * other files. FD is "-" for a process that is to finish what has been sent, and needs no more of
 * it.
 *
 * What was sent comes once, and a process may end at any byte of it. So the source remembers what
 * it gave out behind the last state of the streams above it, the tail: that state and the tail
 * together are as good as a state behind the last byte, wherever that is. The end of the pipe is
 * not the end of the file: it is a pause, unless all has come. One thread. */
#ifndef POPULATOR_SOURCE_UPLOAD_H
#define POPULATOR_SOURCE_UPLOAD_H

#include "populator/source/source.h"

/* More than that is not remembered; then an upload that breaks off goes on from further back. It is
 * what a qcow2 file may hold back for a table that comes later. */
#define UPLOAD_TAIL_MAX (((size_t)64 << 20) - 1)

bool source_is_upload(const struct source *source);

/* Called while more is waited for, and as more comes; it fails the read. */
typedef int (*upload_look)(void *context, struct error **err);
void upload_set_look(struct source *source, upload_look look, void *context);

/* What another process remembered: comes before all that is sent. To be told before the stream is
 * opened or restored. */
void upload_put_tail(struct source *source, const void *bytes, size_t len);
/* The bytes behind the last state; false when there were too many. */
bool upload_tail(const struct source *source, const char **ret_bytes, size_t *ret_len);
/* Of the file: where they end. */
uint64_t upload_position(const struct source *source);
/* Bytes given out since the last state. */
uint64_t upload_since_state(const struct source *source);
/* A state was taken behind the last byte that was given out. */
void upload_cut_tail(struct source *source);

/* It has come to the end of what is sent now. */
bool upload_is_paused(const struct source *source);
/* All of it is safe elsewhere: whoever sends need not go on. */
void upload_tell_complete(struct source *source);

#endif
