/* SPDX-License-Identifier: Apache-2.0 */
/* Whether objects of one namespace may be used from another: the owner of the namespace says so by
 * a ReferenceGrant in it. */
#ifndef POPULATOR_OBJECTS_REFERENCE_GRANT_H
#define POPULATOR_OBJECTS_REFERENCE_GRANT_H

#include "lib/kube/kube_mirror.h"

struct reference {
  const struct kube_kind *from_kind;
  const char *from_ns;
  const struct kube_kind *to_kind;
  const char *to_ns;
  const char *to_name;
};

/* PERMISSION_DENIED, telling the grant that is missing. Within a namespace nothing is needed. */
int reference_grant_check(struct kube_mirror *grants, const struct reference *reference,
                          struct error **err);

#endif
