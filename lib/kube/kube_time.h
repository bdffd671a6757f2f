/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as Kubernetes writes them. */
#ifndef LIB_KUBE_KUBE_TIME_H
#define LIB_KUBE_KUBE_TIME_H

#include <stdint.h>
#include <time.h>

#define KUBE_TIME_BYTES 40

/* "2026-11-16T08:09:03Z"; returns buf. */
const char *kube_time_text(time_t at, char buf[KUBE_TIME_BYTES]);
/* Now, to the microsecond: "2026-11-16T08:09:03.123456Z". */
const char *kube_time_now_micro(char buf[KUBE_TIME_BYTES]);
/* -1 when it is none. Fractions of a second are dropped. */
int kube_time_parse(const char *text, time_t *ret_at);

#endif
