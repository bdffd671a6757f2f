/* SPDX-License-Identifier: Apache-2.0 */
/* Places where a test may kill the process.
 * Compiled in with -DIMPRINT_FAULTS=ON only. The file named by the environment variable
 * IMPRINT_FAULT_FILE arms them: while it holds a number N > 0, the Nth place passed from then on
 * ends the process with SIGKILL. Every place passed while armed is appended to IMPRINT_FAULT_TRACE,
 * so a test learns by itself which places there are. Where IMPRINT_FAULT_ONLY is set, a place
 * counts only when its name begins so. */
#ifndef LIB_BASE_FAULT_H
#define LIB_BASE_FAULT_H

#ifdef IMPRINT_FAULTS
void fault_point(const char *name);
#else
static inline void
fault_point(const char *name)
{
  (void)name;
}
#endif

#endif
