/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the phases that a command line or stdin names, each NAME:IN_FLIGHT:COUNT[:CAP_SECONDS], and
 * prints a JSON object for each as it ends. A driver on stdin can thus let several subjects take
 * turns, while each keeps its connection and what it has made. */
#ifndef BENCH_SCRIPT_H
#define BENCH_SCRIPT_H

#include <sys/types.h>

#include "bench/phases.h"

struct script {
  struct phases *phases;
  int64_t timeout_ms; /* of one operation */
  pid_t pid;          /* whose memory and processor time are reported; 0 for none */
};

/* From `lines`, or from stdin when there are none. Fails at the first line that makes no sense;
 * operations that fail are figures, not failures. */
int script_run(const struct script *script, char *const *lines, size_t count, struct error **err);

#endif
