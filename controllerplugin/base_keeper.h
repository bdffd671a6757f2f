/* SPDX-License-Identifier: Apache-2.0 */
/* Looks through all clusters now and then for base images that nobody asks for any more, so that
 * they do not become more and more as the files behind their sources change (base_use.h). */
#ifndef CONTROLLERPLUGIN_BASE_KEEPER_H
#define CONTROLLERPLUGIN_BASE_KEEPER_H

#include "controllerplugin/controller.h"

struct base_keeper;

/* keep_s 0: for ever, and nothing is looked through. */
struct base_keeper *base_keeper_start(struct controller *controller, int64_t keep_s);
/* False when it hangs in a cluster: then it must not be freed. */
bool base_keeper_stop(struct base_keeper *keeper, int64_t deadline_ms);
void base_keeper_free(struct base_keeper *keeper);

#endif
