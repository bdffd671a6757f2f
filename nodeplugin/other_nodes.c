/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/other_nodes.h"

#include <sys/random.h>
#include <time.h>

#include "csi/volume/image_features.h"
#include "csi/volume/record.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_clients.h"
#include "nodeplugin/io_watch.h"

/* The controller opens an image for a moment to grow, clone or snapshot it; a node that unstages
 * lets go at once. Whoever has it longer is refused to. */
#define OTHERS_WAIT_MS 3000
#define OTHERS_PAUSE_MS 200

static void
pause_a_moment(void)
{
  (void)nanosleep(&(struct timespec){.tv_nsec = OTHERS_PAUSE_MS * 1000000L}, NULL);
}

/* The controller, when it copies a volume free of its parents, has the image open and its lock, and
 * leaves when somebody knocks (lib/ceph/knock.h). Whoever else has it does not. */
static void
ask_for_room(const struct volume *volume)
{
  struct image_client_ids ids;
  if (image_clients_ids(volume->location, volume->id.image_id, &ids, NULL) == 0)
    image_client_ids_clear(&ids);
}

int
other_nodes_call_flattening_off(const struct volume *volume, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct string_map mark = {0};
  if (!record_is_flattening(&volume->header.metadata, volume->id.image_id))
    return 0;
  record_write_flattening(volume->id.image_id, &mark);
  int r = header_update_metadata_if(volume->location, volume->id.image_id, RECORD_FLATTENING,
                                    volume->id.image_id, NULL, &mark, &failure);
  string_map_clear(&mark);
  if (r == 0)
    ask_for_room(volume);
  else if (failure->code != ERROR_ABORTED) /* that: it was taken off meanwhile */
    return error_set(err, failure->code, "%s", failure->message);
  return 0;
}

/* The address of a client that must not have the image, to be freed; NULL when there is none. */
static int
find_other(const struct volume *volume, enum attach_others others, char **ret_address,
           struct error **err)
{
  bool any = false;
  struct image_clients clients = {0};
  *ret_address = NULL;
  if (others == ATTACH_WITH_READERS) {
    int r = image_clients_writer(volume->location, volume->id.image_id, ret_address, err);
    if (*ret_address)
      ask_for_room(volume);
    return r;
  }
  if (image_clients_any(volume->location, volume->id.image_id, &any, err) < 0 ||
      (any && image_clients_list(volume->location, volume->id.image_id, &clients, err) < 0))
    return -1;
  if (clients.count > 0)
    *ret_address = xstrdup(clients.items[0].address);
  image_clients_clear(&clients);
  return 0;
}

int
other_nodes_check(const struct volume *volume, enum attach_others others, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + OTHERS_WAIT_MS;
  while (others != ATTACH_SHARED) {
    CLEANUP(freep) char *address = NULL;
    if (find_other(volume, others, &address, err) < 0)
      return -1;
    if (!address)
      return 0;
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "the Ceph client at %s %s, and its access mode %s; a node that died is let "
                       "go of after 30 s",
                       address, others == ATTACH_ALONE ? "has it open" : "writes to it",
                       others == ATTACH_ALONE ? "allows one node only" : "allows readers only");
    pause_a_moment();
  }
  return 0;
}

/* How many clients there are that are not of the note; *ret_client is the last of them. A knock is
 * one operation, and waits for who does not answer, as the dead ones of the note: with those the
 * list is quicker. */
static int
count_strangers(const struct volume *volume, const struct alone_note *note, size_t *ret_count,
                uint64_t *ret_client, struct error **err)
{
  *ret_count = 0;
  *ret_client = 0;
  if (note->client_count == 0) {
    struct image_client_ids ids;
    if (image_clients_ids(volume->location, volume->id.image_id, &ids, err) < 0)
      return -1;
    *ret_count = ids.count;
    *ret_client = ids.count > 0 ? ids.items[ids.count - 1] : 0;
    image_client_ids_clear(&ids);
    return 0;
  }
  struct image_clients clients;
  if (image_clients_list(volume->location, volume->id.image_id, &clients, err) < 0)
    return -1;
  for (size_t i = 0; i < clients.count; i++) {
    if (!alone_note_has(note, clients.items[i].id)) {
      *ret_client = clients.items[i].id;
      ++*ret_count;
    }
  }
  image_clients_clear(&clients);
  return 0;
}

int
other_nodes_check_nobody_came(const struct volume *volume, const struct alone_note *note,
                              size_t allowed, uint64_t *ret_client, struct error **err)
{
  uint16_t chance = 0;
  (void)!getrandom(&chance, sizeof(chance), GRND_NONBLOCK);
  int64_t deadline_ms = clock_now_ms() + OTHERS_PAUSE_MS + chance % OTHERS_WAIT_MS;
  for (;;) {
    size_t count;
    uint64_t client;
    bool is_over = clock_now_ms() > deadline_ms; /* asked for room, they are looked for once more */
    if (count_strangers(volume, note, &count, &client, err) < 0)
      return -1;
    if (count <= allowed) {
      *ret_client = client;
      return 0;
    }
    if (is_over)
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "another Ceph client has opened it at the same moment, and its access mode "
                       "allows one node only: call again");
    if (note->client_count > 0) /* else counting was asking */
      ask_for_room(volume);
    pause_a_moment();
  }
}

/* Whether a client has the image open, and is not blocklisted. */
static int
has_open(const struct volume *volume, uint64_t client, bool *ret_has, struct error **err)
{
  struct image_clients clients;
  if (image_clients_list(volume->location, volume->id.image_id, &clients, err) < 0)
    return -1;
  *ret_has = false;
  for (size_t i = 0; i < clients.count; i++)
    *ret_has = *ret_has || clients.items[i].id == client;
  image_clients_clear(&clients);
  return 0;
}

int
other_nodes_look_for_us(const struct volume *volume, const struct alone_note *note,
                        bool *ret_is_forgotten, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + OTHERS_WAIT_MS;
  *ret_is_forgotten = false;
  if (note->client_count == 0)
    return 0;
  for (;;) {
    bool has_it;
    if (has_open(volume, note->clients[note->client_count - 1], &has_it, err) < 0)
      return -1;
    *ret_is_forgotten = !has_it;
    if (has_it || clock_now_ms() > deadline_ms)
      return 0;
    pause_a_moment();
  }
}

/* The lock of one that died stays with it until another one breaks it, and one that lets go in
 * order leaves none. */
static bool
has_changed_hands(const struct volume *volume, const struct alone_note *note, dev_t device,
                  uint64_t owner)
{
  if (!(volume->header.features & IMAGE_FEATURE_EXCLUSIVE_LOCK) || alone_note_has(note, owner))
    return false;
  return owner != 0 || io_watch_written(device) > note->written;
}

int
other_nodes_check_untouched(const struct volume *volume, const struct alone_note *note,
                            dev_t device, bool *ret_is_taken, struct error **err)
{
  struct location *location = volume->location;
  const char *image_id = volume->id.image_id, *address = NULL;
  struct image_clients clients;
  uint64_t owner;
  if (image_clients_list(location, image_id, &clients, err) < 0)
    return -1;
  int r = image_clients_lock_owner(location, image_id, &owner, err);
  *ret_is_taken = r == 0 && has_changed_hands(volume, note, device, owner);
  for (size_t i = 0; i < clients.count && !address; i++) {
    if (!alone_note_has(note, clients.items[i].id))
      address = clients.items[i].address;
  }
  if (*ret_is_taken)
    r = error_set(err, ERROR_FAILED_PRECONDITION,
                  "another node has had it since what served it here died: nothing more is written "
                  "from here; its pods have to go, and it has to be unstaged");
  else if (r == 0 && address)
    r = error_set(err, ERROR_FAILED_PRECONDITION,
                  "the Ceph client at %s has it open, and its access mode allows one node only",
                  address);
  if (address)
    ask_for_room(volume);
  image_clients_clear(&clients);
  return r;
}
