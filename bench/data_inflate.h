/* SPDX-License-Identifier: Apache-2.0 */
/* Bare ISA-L: a gzip file, in memory, unpacked by one thread and thrown away. */
#ifndef BENCH_DATA_INFLATE_H
#define BENCH_DATA_INFLATE_H

#include "bench/data_extents.h"

int data_inflate(const struct data_file *file, uint64_t *ret_bytes, struct error **err);

#endif
