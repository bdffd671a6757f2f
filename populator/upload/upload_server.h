/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS server that images are sent to. Whoever sends shows their own Kubernetes token; they
 * need the right to update virtualmachineimages/upload, or datavolumes/upload, in its namespace,
 * and nothing is told before that is known. */
#ifndef POPULATOR_UPLOAD_UPLOAD_SERVER_H
#define POPULATOR_UPLOAD_UPLOAD_SERVER_H

#include "lib/http/http_server.h"
#include "populator/upload/upload_session.h"

struct upload_server;

struct upload_server_options {
  const char *listen;
  const char *certificate; /* files in PEM */
  const char *key;
  uint64_t max_bytes;   /* of a file */
  unsigned max_uploads; /* at once */
  const char *identity; /* who we are on leases */
  const char *worker;   /* the imprint command */
  struct populator *populator;
};

/* The options' strings and the populator must outlive it. */
int upload_server_start(const struct upload_server_options *options,
                        struct upload_server **ret_server, struct error **err);
/* Uploads under way are cut off: what has come of them is on record. */
void upload_server_stop(struct upload_server *server);
DEFINE_CLEANUP(struct upload_server *, upload_server_stop)

#endif
