/* SPDX-License-Identifier: Apache-2.0 */
/* rbd:pool[/namespace]/image[@snapshot], taken apart. */
#ifndef POPULATOR_SOURCE_IMAGE_URL_H
#define POPULATOR_SOURCE_IMAGE_URL_H

#include <stdbool.h>

#include "lib/base/error.h"

#define IMAGE_URL_SCHEME "rbd:"

struct image_url {
  char *pool;
  char *name_space; /* "" for none */
  char *name;
  char *snapshot; /* or NULL */
};

bool image_url_is(const char *url);
int image_url_parse(const char *url, struct image_url *ret_url, struct error **err);
void image_url_clear(struct image_url *url);

#endif
