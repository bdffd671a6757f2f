/* SPDX-License-Identifier: Apache-2.0 */
/* What a DataImportCron has imported: DataVolumes and their claims, which carry its label. */
#ifndef POPULATOR_CONTROLLERS_CRON_IMPORTS_H
#define POPULATOR_CONTROLLERS_CRON_IMPORTS_H

#include "populator/controllers/cron_poll.h"

#define LABEL_CRON "cdi.kubevirt.io/dataImportCron"
/* On an import from a server that keeps one version only: that which is meant. */
#define ANNOTATION_IDENTITY "imprint." KINDS_GROUP "/source-identity"
#define ANNOTATION_IMPORT "imprint." KINDS_GROUP "/import-of"
#define ANNOTATION_IMPORT_TIME "imprint." KINDS_GROUP "/import-time"

/* "<managedDataSource>-<12 characters>" for a version; to be freed. */
char *cron_import_name(const struct kube_object *cron, const char *identity);
/* Makes the DataVolume of a version; url: as of cron_finding, or NULL. */
int cron_import_make(struct populator *populator, const struct kube_object *cron, const char *name,
                     const char *url, struct error **err);
/* Removes one, whatever of it is there. */
int cron_import_remove(struct populator *populator, const char *ns, const char *name,
                       struct error **err);
/* Removes all of the cron. */
int cron_imports_remove_all(struct populator *populator, const struct kube_object *cron,
                            struct error **err);
/* Removes those that are not complete. */
int cron_imports_remove_unfinished(struct populator *populator, const struct kube_object *cron,
                                   struct error **err);
/* Removes an import that is not complete and whose cron is gone: *ret_is_orphan. One that holds
 * nothing back when it goes may have gone while nobody of us was there. */
int cron_import_remove_orphan(struct populator *populator, const struct kube_object *volume,
                              bool *ret_is_orphan, struct error **err);
/* Removes those that are too old or came to nothing. `current` is in service; `wanted` is on its
 * way. *ret_has_used: some would go but are being cloned just now. */
int cron_imports_collect(struct populator *populator, const struct kube_object *cron,
                         const char *current, const char *wanted, bool *ret_has_used,
                         struct error **err);

#endif
