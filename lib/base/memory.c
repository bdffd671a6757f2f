/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
xcalloc(size_t count, size_t size)
{
  void *p = calloc(count, size);
  if (!p)
    abort();
  return p;
}

void *
xrealloc(void *p, size_t count, size_t size)
{
  void *grown = reallocarray(p, count ? count : 1, size);
  if (!grown)
    abort();
  return grown;
}

char *
xstrdup(const char *s)
{
  return s ? xstrndup(s, strlen(s)) : NULL;
}

char *
xstrndup(const char *s, size_t len)
{
  char *copy = strndup(s, len);
  if (!copy)
    abort();
  return copy;
}

char *
xvasprintf(const char *format, va_list args)
{
  char *text = NULL;
  if (vasprintf(&text, format, args) < 0)
    abort();
  return text;
}

char *
xasprintf(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  char *text = xvasprintf(format, args);
  va_end(args);
  return text;
}
