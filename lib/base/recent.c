/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of digests: texts may be long, and a few hundred are looked through in no time. */
#include "lib/base/recent.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"

struct entry {
  char digest[DIGEST_SHA256_HEX];
  int64_t until_ms;
};

struct recent {
  pthread_mutex_t mutex; /* of what follows */
  struct entry *entries;
  size_t count;
  size_t next;
  int64_t lasts_ms;
};

struct recent *
recent_new(size_t count, int64_t lasts_ms)
{
  struct recent *recent = xcalloc(1, sizeof(*recent));
  (void)pthread_mutex_init(&recent->mutex, NULL);
  recent->entries = xcalloc(count, sizeof(recent->entries[0]));
  recent->count = count;
  recent->lasts_ms = lasts_ms;
  return recent;
}

void
recent_free(struct recent *recent)
{
  if (!recent)
    return;
  (void)pthread_mutex_destroy(&recent->mutex);
  free(recent->entries);
  free(recent);
}

/* NULL when there is none, or one that has had its time. */
static struct entry *
find(struct recent *recent, const char *digest, int64_t now_ms)
{
  for (size_t i = 0; i < recent->count; i++) {
    struct entry *entry = &recent->entries[i];
    if (entry->until_ms > now_ms && strcmp(entry->digest, digest) == 0)
      return entry;
  }
  return NULL;
}

bool
recent_add(struct recent *recent, const char *text)
{
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), digest);
  MUTEX_GUARD(&recent->mutex);
  int64_t now_ms = clock_now_ms();
  if (find(recent, digest, now_ms))
    return false;
  struct entry *entry = &recent->entries[recent->next];
  memcpy(entry->digest, digest, sizeof(digest));
  entry->until_ms = now_ms + recent->lasts_ms;
  recent->next = (recent->next + 1) % recent->count;
  return true;
}

int64_t
recent_left_ms(struct recent *recent, const char *text)
{
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), digest);
  MUTEX_GUARD(&recent->mutex);
  int64_t now_ms = clock_now_ms();
  struct entry *entry = find(recent, digest, now_ms);
  return entry ? entry->until_ms - now_ms : 0;
}

void
recent_drop(struct recent *recent, const char *text)
{
  char digest[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), digest);
  MUTEX_GUARD(&recent->mutex);
  struct entry *entry = find(recent, digest, clock_now_ms());
  if (entry)
    entry->until_ms = 0;
}
