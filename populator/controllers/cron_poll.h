/* SPDX-License-Identifier: Apache-2.0 */
/* When a DataImportCron looks for a new version, and what it finds. */
#ifndef POPULATOR_CONTROLLERS_CRON_POLL_H
#define POPULATOR_CONTROLLERS_CRON_POLL_H

#include "populator/controllers/populator.h"

/* Another value than the last one means: look now. */
#define ANNOTATION_POLL "imprint." KINDS_GROUP "/poll"

/* What is looked at: spec.source, or that of spec.template. */
struct json_object *cron_poll_source(const struct kube_object *cron);

struct cron_finding {
  bool is_new;    /* there is an answer, whatever it says */
  char *identity; /* "sha256:…", "etag:…", "uid:…"; NULL: it failed … */
  char *url;      /* of just this version, where one can be named */
  char *problem;  /* … and why … */
  bool is_away;   /* … because nobody answers */
};

void cron_finding_clear(struct cron_finding *finding);

/* Looks when it is time. *ret_again_ms: when it is, or WORK_DONE. INVALID_ARGUMENT names what is
 * wrong with the schedule or the source. */
int cron_poll(struct populator *populator, const struct kube_object *cron,
              struct cron_finding *ret_finding, int64_t *ret_again_ms, struct error **err);
void cron_poll_forget(struct populator *populator, const char *ns, const char *name);

#endif
