/* SPDX-License-Identifier: Apache-2.0 */
/* Gives back the space of what was deleted.
 * DeleteVolume only moves an image to the trash of its pool; these workers empty the trash. The
 * trash is the queue: it survives a restart, and at start every pool is looked through. An image
 * that clones still need is tried again when something else went, and every now and then. */
#ifndef CONTROLLERPLUGIN_PURGER_H
#define CONTROLLERPLUGIN_PURGER_H

#include "controllerplugin/controller.h"
#include "lib/ceph/location.h"

struct purger;
struct rpc_server;

struct purger *purger_new(struct controller *controller);
/* Looks through all clusters of the configuration, and frees from now on. The calls of the server
 * come first: it must outlive purger_halt(). */
void purger_start(struct purger *purger, struct rpc_server *server);
/* Takes nothing up any more. */
void purger_halt(struct purger *purger);
/* After purger_halt(): waits for what is under way. False when it is still so at the deadline. */
bool purger_stop(struct purger *purger, int64_t deadline_ms);
void purger_free(struct purger *purger);

/* Something was put into the trash of this location. */
void purger_kick(struct purger *purger, struct location *location);

/* Moves a deleted volume (image_name_of_deleted) to the trash if no snapshot needs it any more. */
int purger_bury_if_free(struct purger *purger, struct location *location, const char *image_id,
                        struct error **err);

#endif
