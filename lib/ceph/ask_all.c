/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/ask_all.h"

#include "lib/base/memory.h"
#include "lib/ceph/ceph_call.h"

/* One location's question under way. */
struct asked {
  rados_completion_t completion;
  char answer[ASK_ALL_ANSWER_MAX];
};

int
ask_all(const struct locations *locations, ask_all_start *start, const void *question)
{
  if (locations->count == 0)
    return -1;
  CLEANUP(freep) struct asked *asked = xcalloc(locations->count, sizeof(*asked));
  for (size_t i = 0; i < locations->count; i++) {
    (void)rados_aio_create_completion2(NULL, NULL, &asked[i].completion);
    start(locations->items[i], asked[i].completion, question, asked[i].answer);
  }
  int found = -1;
  for (size_t i = 0; i < locations->count; i++) {
    (void)CEPH_CALL(rados_aio_wait_for_complete(asked[i].completion));
    if (rados_aio_get_return_value(asked[i].completion) >= 0 && found < 0)
      found = (int)i;
    rados_aio_release(asked[i].completion);
  }
  return found;
}
