/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of bytes as Kubernetes writes them: "10Gi", "1.5G", "500m", "12e6". */
#ifndef POPULATOR_OBJECTS_QUANTITY_H
#define POPULATOR_OBJECTS_QUANTITY_H

#include <json-c/json_types.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Rounded up to a whole byte. INVALID_ARGUMENT. */
int quantity_parse(const char *text, uint64_t *ret_bytes, struct error **err);
/* A value of an object, which may be a text or a number; 0 when it is not there. */
int quantity_of(struct json_object *value, const char *field, uint64_t *ret_bytes,
                struct error **err);

#define QUANTITY_TEXT_BYTES 32
/* With the largest binary unit that is exact: "10Gi", "1049600". Returns buf. */
const char *quantity_text(uint64_t bytes, char buf[QUANTITY_TEXT_BYTES]);

#endif
