/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of which the beginning is looked at before it is read: what it is decides who reads
 * it. */
#ifndef POPULATOR_FORMAT_PEEK_H
#define POPULATOR_FORMAT_PEEK_H

#include "populator/format/probe.h"
#include "populator/source/stream.h"

/* Reads up to PROBE_BYTES of `below` and says what they are; reading the new stream gives them
 * again, and then the rest. Takes `below`, also when it fails. */
int peek_stream_new(struct stream *below, struct stream **ret_stream, struct probe *ret_probe,
                    struct error **err);
/* See gzip_stream_restore(). */
int peek_stream_restore(struct stream *below, const void *state, size_t len, size_t *ret_used,
                        struct stream **ret_stream, struct error **err);

#endif
