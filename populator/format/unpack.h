/* SPDX-License-Identifier: Apache-2.0 */
/* Takes compressions off a stream, whatever they are, until something else comes out. */
#ifndef POPULATOR_FORMAT_UNPACK_H
#define POPULATOR_FORMAT_UNPACK_H

#include "populator/format/probe.h"
#include "populator/source/stream.h"

/* More compressions around each other than this are a trick. */
#define UNPACK_LAYERS_MAX 3

/* *ret_stream gives what is inside, *ret_probe says what it is: raw, qcow2, tar, … It is a stack of
 * peek and the decompressors' streams. Takes `below`, also when it fails. */
int unpack_stream_new(struct stream *below, struct stream **ret_stream, struct probe *ret_probe,
                      struct error **err);

/* Puts one stream of such a stack back on: `name` and `state` as stream_save() wrote them. Takes
 * `below`, also when it fails. UNIMPLEMENTED for a name that is not of here, or cannot be saved. */
int unpack_stream_restore(struct stream *below, const char *name, const void *state, size_t len,
                          size_t *ret_used, struct stream **ret_stream, struct error **err);

#endif
