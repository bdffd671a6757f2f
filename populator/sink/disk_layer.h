/* SPDX-License-Identifier: Apache-2.0 */
/* The layer of a container disk: a tar archive with the folder /disk and the disk in it, for the
 * user and group that run virtual machines. Pure: it makes what stands around the disk's bytes.
 * Nothing in it depends on when or where it is made. */
#ifndef POPULATOR_SINK_DISK_LAYER_H
#define POPULATOR_SINK_DISK_LAYER_H

#include "lib/base/buffer.h"
#include "lib/base/error.h"

/* Of KubeVirt's images: qemu. */
#define DISK_LAYER_OWNER 107
/* Of the file, where nobody names it. */
#define DISK_LAYER_DEFAULT_NAME "disk.img"

/* INVALID_ARGUMENT when no file can have this name: it must be short, plain ASCII and no path. */
int disk_layer_check_name(const char *name, struct error **err);
/* Everything in front of the disk's first byte. */
void disk_layer_head(const char *name, uint64_t size, struct buffer *head);
/* Everything behind its last. */
void disk_layer_tail(uint64_t size, struct buffer *tail);

#endif
