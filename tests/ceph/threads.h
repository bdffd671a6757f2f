/* SPDX-License-Identifier: Apache-2.0 */
/* The same work in several threads that begin together. */
#ifndef TESTS_CEPH_THREADS_H
#define TESTS_CEPH_THREADS_H

#include <stddef.h>

#define THREADS_MAX 32

/* Calls work() with each of `count` contexts of `size` bytes, and waits for all. */
void threads_run(void (*work)(void *context), void *contexts, size_t size, size_t count);

#endif
