/* SPDX-License-Identifier: Apache-2.0 */
/* The volume that a base image is in. It is made and removed by the driver's own RPCs, called as a
 * sidecar would call them. */
#ifndef CONTROLLERPLUGIN_BASE_VOLUME_H
#define CONTROLLERPLUGIN_BASE_VOLUME_H

#include "controllerplugin/controller.h"

/* A blank volume of that name, made or found; *ret_handle is to be freed. */
int base_volume_find(struct controller *controller, const struct string_map *parameters,
                     const char *name, uint64_t bytes, char **ret_handle, struct error **err);
/* *ret_snapshot, to be freed, is NULL when the volume has none. */
int base_volume_snapshot(struct controller *controller, const char *handle, char **ret_snapshot,
                         struct error **err);
int base_volume_take_snapshot(struct controller *controller, const char *name, const char *handle,
                              char **ret_snapshot, struct error **err);
/* What cannot be removed is told in the log. */
void base_volume_remove_snapshot(struct controller *controller, const char *snapshot);
void base_volume_remove(struct controller *controller, const char *handle);

#endif
