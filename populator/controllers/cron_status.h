/* SPDX-License-Identifier: Apache-2.0 */
/* status of a DataImportCron: what was found, and its conditions Progressing and UpToDate. */
#ifndef POPULATOR_CONTROLLERS_CRON_STATUS_H
#define POPULATOR_CONTROLLERS_CRON_STATUS_H

#include "populator/controllers/cron_poll.h"

/* How things are with a cron, and what to say of it. */
struct cron_view {
  const struct kube_object *cron;
  struct kube_object *target;  /* the DataSource; NULL: it was just made */
  const char *wanted;          /* name of the import that comes next into service; NULL: none */
  struct kube_object *volume;  /* its DataVolume, or NULL */
  bool is_complete;            /* its claim is */
  bool is_lost;                /* its claim has lost its volume */
  struct cron_finding finding; /* of a look that is just over */
  const char *problem;         /* of the last look or the import */
};

void cron_view_clear(struct cron_view *view);

/* A look is over: what it found, or that it found nothing. */
void cron_status_put_finding(const struct cron_view *view, struct json_object *status);
/* A new version is in service from now on. */
void cron_status_put_import(const struct cron_view *view, struct json_object *status);
/* The import is over, well or not, and a newer version is known: that is wanted now. */
void cron_status_put_next(struct cron_view *view, struct json_object *status);
/* With the conditions that follow from the view. Takes the status. */
int cron_status_write(struct populator *populator, const struct cron_view *view,
                      struct json_object *status, struct error **err);

/* What was wrong at the last look; NULL: nothing. */
const char *cron_status_problem(const struct kube_object *cron);
/* The import that is wanted, {DataVolumeName, Digest, URL}, or NULL. */
struct json_object *cron_status_import(const struct kube_object *cron);
/* The one behind it, of a version that was found while that was under way; or NULL. */
struct json_object *cron_status_next(const struct kube_object *cron);
/* Whether something is being done for the import; volume may be NULL. */
bool cron_status_is_under_way(const struct kube_object *volume);

#endif
