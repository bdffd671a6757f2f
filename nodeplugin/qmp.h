/* SPDX-License-Identifier: Apache-2.0 */
/* One command to a QEMU program over its monitor socket. Every wait has a limit. */
#ifndef NODEPLUGIN_QMP_H
#define NODEPLUGIN_QMP_H

#include <sys/types.h>

#include "lib/base/error.h"

/* arguments is a JSON object, or NULL. *ret_pid (may be NULL) is the process that serves the
 * socket, set as soon as that is known: also on failure, else 0. */
int qmp_command(const char *socket_path, const char *command, const char *arguments, pid_t *ret_pid,
                struct error **err);

#endif
