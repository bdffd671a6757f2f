/* SPDX-License-Identifier: Apache-2.0 */
/* Scope-bound cleanup.
 * A variable is declared, initialised and marked for cleanup on one line, so that every early
 * return frees what was made so far; TAKE() hands ownership on and disarms the cleanup. */
#ifndef LIB_BASE_CLEANUP_H
#define LIB_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* The value of p, which becomes NULL: the caller owns it from here. */
#define TAKE(p)                                                                                    \
  ({                                                                                               \
    __typeof__(p) taken_ = (p);                                                                    \
    (p) = NULL;                                                                                    \
    taken_;                                                                                        \
  })

/* Makes fn##p(), which is what CLEANUP() wants, out of fn(). fn() must accept NULL. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
  static inline void fn##p(type *p)                                                                \
  {                                                                                                \
    fn(*p);                                                                                        \
  }

static inline void
freep(void *p)
{
  free(*(void **)p);
}

static inline void
closep(int *fd)
{
  if (*fd >= 0)
    (void)close(*fd);
}

#endif
