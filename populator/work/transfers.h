/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers under way: each is the `imprint` command as a process of its own, which shuts itself
 * into a sandbox, so nothing that parses an image or talks to a foreign server lives in here. So
 * many run at once, the others wait.
 *
 * Each runs under a lease: of several populators one does it, and when that one dies, another. */
#ifndef POPULATOR_WORK_TRANSFERS_H
#define POPULATOR_WORK_TRANSFERS_H

#include "lib/kube/json.h"
#include "lib/kube/kube_client.h"
#include "populator/work/series.h"

struct transfers;

struct transfers_options {
  struct kube_client *client;
  const char *ns;       /* where the leases are */
  const char *identity; /* who we are on them */
  const char *worker;   /* path of the command */
  size_t max_running;
  struct series *counters; /* what was done is counted there */
  /* Asked, by a thread of its own, once the lease is ours: whether it is still to be done. Another
   * populator may have finished it just before. It must ask the server, not a copy. */
  bool (*is_wanted)(void *context, const char *key, const char *verb);
  /* Asked likewise, right before it runs: puts on record that it does. False: it could not, and
   * nothing runs until it can. */
  bool (*note)(void *context, const char *key, const char *verb);
  /* Called, by a thread of its own, whenever there may be something new to see. */
  void (*changed)(void *context, const char *key);
  void *context;
};

enum transfer_state {
  TRANSFER_NONE,      /* not known here */
  TRANSFER_WAITING,   /* others come first */
  TRANSFER_ELSEWHERE, /* another populator does it */
  TRANSFER_RUNNING,
  TRANSFER_DONE,
  TRANSFER_FAILED,
};

struct transfer_view {
  enum transfer_state state;
  const char *verb;           /* what it was started for */
  char *trouble;              /* what it is trying again, and why; NULL: nothing. To be freed */
  double percent;             /* of what is to be done; negative: that is not known */
  int64_t moved;              /* bytes that came over the network, or went there */
  struct json_object *result; /* of TRANSFER_DONE: what the command said last; to be put */
  enum error_code code;       /* of TRANSFER_FAILED … */
  char *message;              /* … to be freed */
};

/* Whether it is more than an intention here. */
bool transfer_view_is_begun(const struct transfer_view *view);

struct transfers *transfers_new(const struct transfers_options *options);
/* Ends what runs, and none is begun any more: another populator goes on with it. */
void transfers_stop(struct transfers *transfers);
void transfers_free(struct transfers *transfers);

/* `imprint VERB` with the job on its standard input; the job may hold secrets and is only there. */
struct transfer_order {
  const char *key;
  const char *lease;
  const char *verb; /* is not copied */
  /* Tells this job from others of the same key: whatever it was made of that may change. */
  const char *about;
};

/* Nothing happens when there is a transfer of that key already. Takes the job. */
void transfers_start(struct transfers *transfers, const struct transfer_order *order,
                     struct json_object *job);
/* How the transfer that is about this fares. One that is about something else is forgotten: another
 * populator may have seen the change first, and left nothing of it to be seen. about NULL: whatever
 * it is about. */
void transfers_look(struct transfers *transfers, const char *key, const char *about,
                    struct transfer_view *ret_view);
void transfer_view_clear(struct transfer_view *view);
/* Forgets it and lets go of its lease; one that runs is stopped first, and is gone when this
 * returns. What came of it must be on record by then. */
void transfers_forget(struct transfers *transfers, const char *key);
/* How many there are now, by their state. */
void transfers_count(struct transfers *transfers, struct series *gauges);

#endif
