/* SPDX-License-Identifier: Apache-2.0 */
/* One piece of a file on its way from a client into Ceph. A worker writes it; what it says is safe
 * is put on record in the image's status, and only that is ever acknowledged: whoever goes on after
 * a crash, here or with another populator, goes on from there.
 *
 * A file that begins is looked at first (upload_probe.h): most are imported as they come, the
 * others are kept as they are (controllers/upload_record.h).
 *
 * One at a time an image: by a lock within this process, by a lease among several. Nobody is kept
 * waiting for either. One thread. */
#ifndef POPULATOR_UPLOAD_UPLOAD_SESSION_H
#define POPULATOR_UPLOAD_UPLOAD_SESSION_H

#include "lib/base/keyed_lock.h"
#include "populator/controllers/populator.h"
#include "populator/upload/upload_leases.h"
#include "populator/upload/upload_request.h"

struct upload_session;

struct upload_sessions {
  struct populator *populator;
  const char *worker; /* the imprint command */
  struct upload_leases *leases;
  struct keyed_locks *locks;
};

/* The request's strings must outlive it. ABORTED when somebody else sends to this image,
 * UNAVAILABLE when that was, or is, through another populator, or Ceph does not let go of one that
 * died; FAILED_PRECONDITION when it takes no upload, or not from there: then *ret_offset is where
 * it can go on. */
int upload_session_open(struct upload_sessions *sessions, const struct upload_request *request,
                        struct upload_session **ret_session, uint64_t *ret_offset,
                        struct error **err);
/* -1: it cannot go on. */
int upload_session_write(struct upload_session *session, const void *data, size_t len,
                         struct error **err);
/* All was written: waits until it is safe and on record. */
int upload_session_finish(struct upload_session *session, struct error **err);
/* No more comes: puts what has come on record, whatever became of the rest. */
void upload_session_settle(struct upload_session *session);
/* Settles it first. */
void upload_session_close(struct upload_session *session);
DEFINE_CLEANUP(struct upload_session *, upload_session_close)

/* Whether it failed because the file is of no use, however often it is sent; and puts that, and the
 * reason, on record. */
bool upload_session_is_refused(const struct upload_session *session);
int upload_session_refuse(struct upload_session *session, const char *reason, struct error **err);

/* Bytes that are on record. */
uint64_t upload_session_offset(const struct upload_session *session);

#endif
