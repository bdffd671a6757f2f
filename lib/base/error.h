/* SPDX-License-Identifier: Apache-2.0 */
/* An error is a value: made where the cause is known, wrapped with the place on the way up, turned
 * into a gRPC status or an exit code at the boundary.
 *
 * Functions that can fail take `struct error **err` last and return -1 after setting it. err may be
 * NULL when the caller does not care. A set error is never set again: free it first. */
#ifndef LIB_BASE_ERROR_H
#define LIB_BASE_ERROR_H

#include "lib/base/cleanup.h"

/* The values are those of grpc_status_code, so that no table is needed; csi/rpc/status.c asserts
 * each. */
enum error_code {
  ERROR_CANCELLED = 1,
  ERROR_UNKNOWN = 2,
  ERROR_INVALID_ARGUMENT = 3,
  ERROR_DEADLINE_EXCEEDED = 4,
  ERROR_NOT_FOUND = 5,
  ERROR_ALREADY_EXISTS = 6,
  ERROR_PERMISSION_DENIED = 7,
  ERROR_RESOURCE_EXHAUSTED = 8,
  ERROR_FAILED_PRECONDITION = 9,
  ERROR_ABORTED = 10,
  ERROR_OUT_OF_RANGE = 11,
  ERROR_UNIMPLEMENTED = 12,
  ERROR_INTERNAL = 13,
  ERROR_UNAVAILABLE = 14,
  ERROR_DATA_LOSS = 15,
  ERROR_UNAUTHENTICATED = 16,
};

struct error {
  enum error_code code;
  /* Outermost first: "create volume 'v1': open pool 'p': No such file". One line of valid UTF-8,
   * whatever was put into it, so that nobody who cuts a word with %.64s need think of characters.
   */
  char *message;
};

/* Each is -1, so that a caller can write `return error_set(…)`. Macros, because compilers and
 * analysers then see that such a path returns -1. */
#define error_set(err, ...) (error_make((err), __VA_ARGS__), -1)
/* The code and the tail of the message come from errno_value, which is positive. */
#define error_set_errno(err, ...) (error_make_errno((err), __VA_ARGS__), -1)
/* Puts the place in front of the message and keeps the code. */
#define error_wrap(err, ...) (error_add_place((err), __VA_ARGS__), -1)

void error_make(struct error **err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void error_make_errno(struct error **err, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void error_add_place(struct error **err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum error_code error_code_of_errno(int errno_value);
/* "NOT_FOUND"; "OK" for 0. */
const char *error_code_name(int code);

void error_free(struct error *err);
DEFINE_CLEANUP(struct error *, error_free)

#endif
