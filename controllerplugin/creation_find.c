/* SPDX-License-Identifier: Apache-2.0 */
/* What there is under the name of a volume.
 *
 * Whoever finds an image without its record finds the remains of a call that died, or the work of
 * another controller that has the same call, as after a change of leaders. So he waits a moment for
 * the record; then the image is taken away from whoever makes it (lib/ceph/unfinished.h) and made
 * anew. Nobody was told of it. Only a full copy that was begun is gone on with.
 *
 * A blank volume is made first and looked for only when its name turns out to be taken: the common
 * case costs one create, one read and one write. */
#include <string.h>
#include <unistd.h>

#include "controllerplugin/creation.h"
#include "csi/volume/capacity.h"
#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/unfinished.h"

/* A name that is taken, cleaned up and taken again by someone else: give up and be called again. */
#define ATTEMPTS 3
/* How long somebody else may take for his next steps before he is taken for dead. Whether he is
 * does not matter for what comes out, only for how often it is begun. */
#define PATIENCE_MS 1000
#define LOOK_MS 50

enum found_state {
  FOUND_NOTHING,
  FOUND_READY,
  FOUND_COPYING,    /* a full copy, begun and not finished */
  FOUND_UNFINISHED, /* the remains of a call that died, or somebody is at it */
};

/* What there is under the name. */
struct found {
  enum found_state state;
  char *id;
  bool has_header;
  struct header header;
};

static void
found_clear(struct found *found)
{
  free(found->id);
  if (found->has_header)
    header_clear(&found->header);
  *found = (struct found){0};
}

static int
look(struct creation *c, struct found *ret_found, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  struct found found = {.state = FOUND_NOTHING};
  int r = directory_id_of(c->location, c->image_name, &found.id, &failure);
  if (r == 0) {
    found.state = FOUND_UNFINISHED;
    r = header_read(c->location, found.id, &found.header, &failure);
    found.has_header = r == 0;
  }
  if (r < 0 && failure->code != ERROR_NOT_FOUND) {
    found_clear(&found);
    return error_set(err, failure->code, "%s", failure->message);
  }
  if (found.has_header && record_is_ready(&found.header.metadata, found.id))
    found.state = FOUND_READY;
  else if (found.has_header && record_is_copying(&found.header.metadata, found.id))
    found.state = FOUND_COPYING;
  *ret_found = found;
  return 0;
}

/* The same, and if somebody may be at it, once more until he is through or takes too long. */
static int
look_patiently(struct creation *c, struct found *ret_found, struct error **err)
{
  if (look(c, ret_found, err) < 0)
    return -1;
  for (int waited_ms = 0; ret_found->state == FOUND_UNFINISHED && waited_ms < PATIENCE_MS;
       waited_ms += LOOK_MS) {
    found_clear(ret_found);
    (void)usleep(LOOK_MS * 1000);
    if (look(c, ret_found, err) < 0)
      return -1;
  }
  return 0;
}

/* A volume is there under this name: is it the one that is asked for? */
static int
accept_existing(struct creation *c, const struct found *found,
                Csi__V1__CreateVolumeResponse *response, struct error **err)
{
  const struct header *header = &found->header;
  if (record_compare(&c->record, &header->metadata, err) < 0 ||
      capacity_check_existing(c->request->capacity_range, header->size_bytes, err) < 0)
    return error_wrap(err, "it exists already");
  if (found->state == FOUND_READY) {
    creation_answer(c, found->id, header, response);
    return 0;
  }
  return creation_finish_copy(c, found->id, header->size_bytes, response, err);
}

int
creation_find(struct creation *c, bool is_taken, Csi__V1__CreateVolumeResponse *response,
              bool *ret_is_answered, struct error **err)
{
  struct found found;
  int r = 0;
  if (look_patiently(c, &found, err) < 0)
    return -1;
  *ret_is_answered = found.state == FOUND_READY || found.state == FOUND_COPYING;
  if (*ret_is_answered)
    r = accept_existing(c, &found, response, err);
  else if (found.state == FOUND_UNFINISHED)
    r = unfinished_take_away(c->location, c->image_name, found.id,
                             found.has_header ? &found.header : NULL, RECORD_READY, err);
  else if (is_taken)
    r = directory_drop_stray_name(c->location, c->image_name, err);
  found_clear(&found);
  return r;
}

/* An attempt; *ret_is_answered is false when somebody else was in the way. */
static int
attempt(struct creation *c, bool is_taken, Csi__V1__CreateVolumeResponse *response,
        bool *ret_is_answered, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_is_answered = false;
  if (c->source.kind != CONTENT_BLANK || is_taken) {
    if (creation_find(c, is_taken, response, ret_is_answered, &failure) < 0) {
      bool goes_on = !*ret_is_answered && failure->code == ERROR_ABORTED;
      return goes_on ? 0 : error_set(err, failure->code, "%s", failure->message);
    }
    if (*ret_is_answered)
      return 0;
  }
  if (creation_make(c, response, &failure) == 0) {
    *ret_is_answered = true;
    return 0;
  }
  if (failure->code == ERROR_ALREADY_EXISTS)
    return 0;
  return error_set(err, failure->code, "%s", failure->message);
}

int
creation_find_or_make(struct creation *c, Csi__V1__CreateVolumeResponse *response,
                      struct error **err)
{
  bool is_answered = false;
  for (int i = 0; i < ATTEMPTS && !is_answered; i++) {
    if (attempt(c, i > 0, response, &is_answered, err) < 0)
      return -1;
  }
  if (!is_answered)
    return error_set(err, ERROR_ABORTED, "its image is being made by somebody else: call again");
  return 0;
}
