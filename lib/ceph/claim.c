/* SPDX-License-Identifier: Apache-2.0 */
/* The owner is an extended attribute, because a write operation can be made to depend on its value.
 */
#include "lib/ceph/claim.h"

#include <errno.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/ask_all.h"
#include "lib/ceph/ceph_call.h"

#define OWNER_ATTRIBUTE "imprint.owner"

static int
read_owner(struct location *location, const char *name, char **ret_owner)
{
  char owner[CLAIM_OWNER_MAX];
  int r = CEPH_CALL(rados_getxattr(location->ioctx, name, OWNER_ATTRIBUTE, owner, sizeof(owner)));
  if (r < 0)
    return r;
  *ret_owner = xstrndup(owner, (size_t)r);
  return 0;
}

int
claim_take(struct location *location, const char *name, const char *owner, char **ret_owner,
           struct error **err)
{
  *ret_owner = NULL;
  int r;
  do {
    rados_write_op_t op = rados_create_write_op();
    rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    rados_write_op_setxattr(op, OWNER_ATTRIBUTE, owner, strlen(owner));
    r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, name, NULL, 0));
    rados_release_write_op(op);
    if (r == -EEXIST)
      r = read_owner(location, name, ret_owner);
  } while (r == -ENOENT); /* given up between the two: take it now */
  if (r < 0)
    return location_error_set(location, err, r, "claim the name '%s' in '%s'", name,
                              location->label);
  return 0;
}

/* A write operation that does nothing unless the name is owner's. */
static rados_write_op_t
op_if_owned(const char *owner)
{
  rados_write_op_t op = rados_create_write_op();
  rados_write_op_cmpxattr(op, OWNER_ATTRIBUTE, LIBRADOS_CMPXATTR_OP_EQ, owner, strlen(owner));
  return op;
}

int
claim_pass(struct location *location, const char *name, const char *from, const char *to,
           struct error **err)
{
  rados_write_op_t op = op_if_owned(from);
  rados_write_op_setxattr(op, OWNER_ATTRIBUTE, to, strlen(to));
  int r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, name, NULL, 0));
  rados_release_write_op(op);
  if (r == -ECANCELED || r == -ENOENT)
    return error_set(err, ERROR_ABORTED, "the name '%s' changed hands just now: try again", name);
  if (r < 0)
    return location_error_set(location, err, r, "claim the name '%s' in '%s'", name,
                              location->label);
  return 0;
}

int
claim_drop(struct location *location, const char *name, const char *owner, struct error **err)
{
  rados_write_op_t op = op_if_owned(owner);
  rados_write_op_remove(op);
  int r = CEPH_CALL(rados_write_op_operate(op, location->ioctx, name, NULL, 0));
  rados_release_write_op(op);
  if (r < 0 && r != -ENOENT && r != -ECANCELED)
    return location_error_set(location, err, r, "give up the name '%s' in '%s'", name,
                              location->label);
  return 0;
}

static void
start_find(struct location *location, rados_completion_t completion, const void *question,
           char answer[ASK_ALL_ANSWER_MAX])
{
  (void)rados_aio_getxattr(location->ioctx, question, completion, OWNER_ATTRIBUTE, answer,
                           ASK_ALL_ANSWER_MAX);
}

int
claim_find(const struct locations *locations, const char *name)
{
  return ask_all(locations, start_find, name);
}
