/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions to servers outside ("which version is there?"), each asked by the `imprint`
 * command as a process of its own. A server may be down and let everyone wait: so many are asked at
 * once, of one host only a few, and none for longer than a minute. */
#ifndef POPULATOR_WORK_LOOKUPS_H
#define POPULATOR_WORK_LOOKUPS_H

#include "lib/kube/json.h"

struct lookups;

struct lookups_options {
  const char *worker; /* path of the command */
  size_t max_running;
  size_t max_of_host;
  int64_t timeout_ms;
  /* Called, by a thread of its own, when there is an answer. */
  void (*changed)(void *context, const char *key);
  void *context;
};

enum lookup_state { LOOKUP_NONE, LOOKUP_RUNNING, LOOKUP_DONE, LOOKUP_FAILED };

struct lookup_view {
  enum lookup_state state;
  char *about;                /* as it was given to lookups_start(); to be freed */
  struct json_object *result; /* of LOOKUP_DONE; to be put */
  enum error_code code;       /* of LOOKUP_FAILED … */
  char *message;              /* … to be freed */
};

struct lookups *lookups_new(const struct lookups_options *options);
void lookups_stop(struct lookups *lookups);
void lookups_free(struct lookups *lookups);

/* `imprint VERB` with the job on its standard input. Nothing happens when there is a lookup of that
 * key already. about tells this question from others of the same key: what was asked before a
 * change of it may be of no interest. Takes the job; the verb is not copied. */
void lookups_start(struct lookups *lookups, const char *key, const char *about, const char *host,
                   const char *verb, struct json_object *job);
/* An answer is given once: then it is forgotten. */
void lookups_take(struct lookups *lookups, const char *key, struct lookup_view *ret_view);
void lookup_view_clear(struct lookup_view *view);
/* What is asked for the key is of no interest any more. */
void lookups_forget(struct lookups *lookups, const char *key);

#endif
