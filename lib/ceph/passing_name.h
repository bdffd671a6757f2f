/* SPDX-License-Identifier: Apache-2.0 */
/* The names of snapshots that exist only while somebody works with them,
 * imprint.t.<client>.<number>: the Ceph client that took it is told by the name. When that client
 * does not watch the image any more, its process has died, and the snapshot belongs to nobody. */
#ifndef LIB_CEPH_PASSING_NAME_H
#define LIB_CEPH_PASSING_NAME_H

#include <stdbool.h>
#include <stdint.h>

#define PASSING_NAME_PREFIX "imprint.t."

/* To be freed. */
char *passing_name_make(uint64_t client_id, uint64_t number);
/* The client; false when the name is not such a one. */
bool passing_name_client(const char *snap_name, uint64_t *ret_client_id);

#endif
