/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_leases.h"

#include <string.h>
#include <sys/queue.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

/* Nobody has come again for so long: it is looked at anew then. */
#define FORGET_MS 300000

struct seen {
  TAILQ_ENTRY(seen) link;
  char *name;
  struct kube_lease *lease;
  int64_t at_ms;
};

struct upload_leases {
  struct kube_client *client;
  char *holder;
  pthread_mutex_t mutex; /* of the list */
  TAILQ_HEAD(, seen) list;
};

static void
seen_free(struct seen *seen)
{
  if (!seen)
    return;
  kube_lease_free(seen->lease);
  free(seen->name);
  free(seen);
}

DEFINE_CLEANUP(struct seen *, seen_free)

struct upload_leases *
upload_leases_new(struct kube_client *client, const char *holder)
{
  struct upload_leases *leases = xcalloc(1, sizeof(*leases));
  leases->client = client;
  leases->holder = xstrdup(holder);
  (void)pthread_mutex_init(&leases->mutex, NULL);
  TAILQ_INIT(&leases->list);
  return leases;
}

void
upload_leases_free(struct upload_leases *leases)
{
  if (!leases)
    return;
  struct seen *seen;
  while ((seen = TAILQ_FIRST(&leases->list))) {
    TAILQ_REMOVE(&leases->list, seen, link);
    seen_free(seen);
  }
  (void)pthread_mutex_destroy(&leases->mutex);
  free(leases->holder);
  free(leases);
}

/* What is known of that lease, off the list, or a new one. */
static struct seen *
recall(struct upload_leases *leases, const char *name)
{
  {
    MUTEX_GUARD(&leases->mutex);
    struct seen *seen;
    TAILQ_FOREACH(seen, &leases->list, link)
    {
      if (strcmp(seen->name, name) == 0) {
        TAILQ_REMOVE(&leases->list, seen, link);
        return seen;
      }
    }
  }
  struct seen *seen = xcalloc(1, sizeof(*seen));
  seen->name = xstrdup(name);
  seen->lease = kube_lease_new(leases->client, kube_client_namespace(leases->client), name,
                               leases->holder, UPLOAD_LEASE_S);
  return seen;
}

/* Puts it on the list, and forgets the oldest when it is too old; those come first. */
static void
remember(struct upload_leases *leases, struct seen *seen)
{
  MUTEX_GUARD(&leases->mutex);
  seen->at_ms = clock_now_ms();
  TAILQ_INSERT_TAIL(&leases->list, seen, link);
  struct seen *oldest = TAILQ_FIRST(&leases->list);
  if (seen->at_ms - oldest->at_ms > FORGET_MS) {
    TAILQ_REMOVE(&leases->list, oldest, link);
    seen_free(oldest);
  }
}

int
upload_leases_take(struct upload_leases *leases, const char *name, struct kube_lease **ret_lease,
                   struct error **err)
{
  CLEANUP(seen_freep) struct seen *seen = recall(leases, name);
  bool is_held = false;
  if (kube_lease_try(seen->lease, &is_held, err) < 0)
    return -1;
  if (!is_held) {
    remember(leases, TAKE(seen));
    return error_set(err, ERROR_UNAVAILABLE,
                     "another populator has an upload to this image under way, or died in the "
                     "middle of one less than half a minute ago: try again");
  }
  *ret_lease = TAKE(seen->lease);
  return 0;
}
