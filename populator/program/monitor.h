/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics for Prometheus, /healthz and /readyz for kubelet. */
#ifndef POPULATOR_PROGRAM_MONITOR_H
#define POPULATOR_PROGRAM_MONITOR_H

#include "lib/http/http_server.h"
#include "populator/controllers/running.h"

/* The populator must outlive it; it need not be started yet. */
int monitor_start(const char *listen, struct populator *populator, struct http_server **ret_server,
                  struct error **err);

#endif
