/* SPDX-License-Identifier: Apache-2.0 */
/* Versions by the rules of semver.org, as tags of container images have them: a leading "v" and
 * missing numbers are forgiven ("v1.2", "40"), a fourth one too ("9.4.0.1"). */
#ifndef LIB_BASE_SEMVER_H
#define LIB_BASE_SEMVER_H

#include <stdbool.h>

bool semver_is(const char *text);
/* Below 0, 0 or above 0: which comes first. Both are versions. What is behind "+" does not count.
 */
int semver_compare(const char *a, const char *b);
/* The highest of a list that ends with NULL; NULL when there is no version in it. A release counts
 * before a pre-release, a version in full ("1.2.3") before one that may be something else ("40",
 * "20240101"). Of equal ones the one that says more ("1.2.0" before "1.2"), then the first in the
 * alphabet. */
const char *semver_highest(const char *const *texts);

#endif
