/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS server that images are sent to (upload.h) and exports are fetched from (download.h).
 * Whoever comes shows their own Kubernetes token. */
#ifndef POPULATOR_UPLOAD_UPLOAD_SERVER_H
#define POPULATOR_UPLOAD_UPLOAD_SERVER_H

#include <stdint.h>

#include "lib/base/error.h"

struct populator;
struct upload_server;

struct upload_server_options {
  const char *listen;
  const char *certificate; /* files in PEM */
  const char *key;
  uint64_t max_bytes;   /* of a file */
  unsigned max_uploads; /* at once; as many downloads */
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
