/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/qcow2_claims.h"

#include <stdlib.h>

#include "lib/base/memory.h"

void
qcow2_claims_clear(struct qcow2_claims *claims)
{
  free(claims->items);
  *claims = (struct qcow2_claims){0};
}

static bool
is_before(const struct qcow2_run *a, const struct qcow2_run *b)
{
  if (a->host_offset != b->host_offset)
    return a->host_offset < b->host_offset;
  return a->virtual_offset < b->virtual_offset;
}

void
qcow2_claims_push(struct qcow2_claims *claims, const struct qcow2_run *claim)
{
  if (claims->count == claims->room) {
    claims->room = claims->room < 64 ? 64 : claims->room + claims->room / 2;
    claims->items = xrealloc(claims->items, claims->room, sizeof(*claim));
  }
  struct qcow2_run *items = claims->items;
  size_t at = claims->count++;
  while (at > 0 && is_before(claim, &items[(at - 1) / 2])) {
    items[at] = items[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  items[at] = *claim;
}

const struct qcow2_run *
qcow2_claims_first(const struct qcow2_claims *claims)
{
  return claims->count > 0 ? &claims->items[0] : NULL;
}

void
qcow2_claims_pop(struct qcow2_claims *claims)
{
  struct qcow2_run *items = claims->items;
  struct qcow2_run last = items[--claims->count];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= claims->count)
      break;
    if (child + 1 < claims->count && is_before(&items[child + 1], &items[child]))
      child++;
    if (!is_before(&items[child], &last))
      break;
    items[at] = items[child];
    at = child;
  }
  items[at] = last;
}

static int
compare(const void *a, const void *b)
{
  return is_before(a, b) ? -1 : is_before(b, a);
}

void
qcow2_claims_sort(struct qcow2_claims *claims)
{
  if (claims->count > 1)
    qsort(claims->items, claims->count, sizeof(claims->items[0]), compare);
}
