/* SPDX-License-Identifier: Apache-2.0 */
/* A file with one JSON object of strings: the parameters of a class, or secrets. */
#ifndef BENCH_FLAT_JSON_H
#define BENCH_FLAT_JSON_H

#include "lib/base/error.h"
#include "lib/base/string_map.h"

/* Adds what the file holds to `map`. */
int flat_json_read(const char *path, struct string_map *map, struct error **err);

#endif
