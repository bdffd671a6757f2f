/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation of small things of our own making: it aborts instead of failing, because no caller
 * could do anything sensible. A size that comes from outside is capped and checked by its reader
 * first. */
#ifndef LIB_BASE_MEMORY_H
#define LIB_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t count, size_t size) __attribute__((returns_nonnull));
/* NULL stays NULL. */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *xvasprintf(const char *format, va_list args)
    __attribute__((format(printf, 1, 0), returns_nonnull));

/* The struct whose member `pointer` points to. */
#define CONTAINER_OF(pointer, type, member)                                                        \
  ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
