/* SPDX-License-Identifier: Apache-2.0 */
/* The rbd object class's answers, taken apart. They come over the network and may be of any
 * release: what is cut short or does not add up is an error, what a newer one added is passed over.
 */
#ifndef LIB_CEPH_HEADER_DECODE_H
#define LIB_CEPH_HEADER_DECODE_H

#include "lib/ceph/header.h"
#include "lib/ceph/wire.h"

/* The methods that are asked for a header, in this order. */
enum {
  HEADER_ANSWER_SIZE,     /* get_size */
  HEADER_ANSWER_FEATURES, /* get_features */
  HEADER_ANSWER_SNAPS,    /* get_snapcontext */
  HEADER_ANSWER_PARENT,   /* parent_get */
  HEADER_ANSWER_METADATA, /* metadata_list */
  HEADER_ANSWERS
};

/* 0 or -EBADMSG; then nothing is left to clear. The answers are used up. */
int header_decode(struct wire_reader answers[HEADER_ANSWERS], struct header *ret_header);
/* … of snapshot_get. */
int header_decode_snap(struct wire_reader answer, struct snap *ret_snap);

#endif
