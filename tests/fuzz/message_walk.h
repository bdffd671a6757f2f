/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through an unpacked message by its descriptor. */
#ifndef TESTS_FUZZ_MESSAGE_WALK_H
#define TESTS_FUZZ_MESSAGE_WALK_H

#include <protobuf-c/protobuf-c.h>

/* Exactly one of the two is given. */
typedef void message_visit(const ProtobufCMessage *message, const char *string, void *context);

/* Visits the message, every message in it and every string. */
void message_walk(const ProtobufCMessage *message, message_visit *visit, void *context);

#endif
