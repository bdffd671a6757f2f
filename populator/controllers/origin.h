/* SPDX-License-Identifier: Apache-2.0 */
/* What a claim is to be filled from: follows its dataSourceRef to a snapshot or a volume in Ceph.
 *
 * A DataSource on the way may be pointed elsewhere at any time. So what was chosen for a claim is
 * written on it before anything is made (ANNOTATION_CLONED_FROM), and holds from then on. Anyone
 * who may change the claim may change that too, so it is taken for no more than he may use anyway.
 * For the claim of a DataVolume it is there to be read only: what counts is clone_choice.h.
 */
#ifndef POPULATOR_CONTROLLERS_ORIGIN_H
#define POPULATOR_CONTROLLERS_ORIGIN_H

#include "populator/controllers/populator.h"
#include "populator/objects/source_link.h"

struct origin {
  /* CSI handles; one of both is there. */
  char *snapshot;
  char *volume;
  uint64_t bytes;
  struct source_link link; /* what was chosen; of nothing where there was no choice */
  char *text;              /* "VirtualMachineImage 'golden/fedora'" */
};

/* Whether the claim's dataSourceRef is of a kind of ours at all. */
bool origin_is_ours(const struct kube_object *claim);
/* Whether it is an image, or a volume of one, which nobody but us knows. */
bool origin_is_image(const struct kube_object *claim);
/* Whether the claim refers to that object, in whatever namespace. */
bool origin_names(const struct kube_object *claim, const struct kube_kind *kind, const char *ns,
                  const char *name);
/* Whether a claim that says it is filled from there may be: of its own namespace, or by a grant. Of
 * the claim of a DataVolume only the DataVolume can tell. */
bool origin_may_be(struct populator *populator, const struct kube_object *claim,
                   const struct source_link *link);
/* Whether whoever made the claim fills it too, with an import or an upload. */
bool origin_is_owners_business(struct populator *populator, const struct kube_object *claim);

/* UNAVAILABLE: not yet, the message tells what it waits for. PERMISSION_DENIED: a grant is missing.
 * FAILED_PRECONDITION: it will never be, as things are. */
int origin_find(struct populator *populator, const struct kube_object *claim,
                struct origin *ret_origin, struct error **err);
/* What a claim that was filled is a clone of, for people; to be freed. */
char *origin_text(struct populator *populator, const struct kube_object *claim);
/* What a DataVolume that is a clone is made from at present; codes as of origin_find(). */
int origin_of_data_volume(struct populator *populator, const struct kube_object *volume,
                          struct source_link *ret_link, struct error **err);
void origin_clear(struct origin *origin);

#endif
