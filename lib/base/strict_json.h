/* SPDX-License-Identifier: Apache-2.0 */
/* What json-c lets pass in a text from outside, though two readers may take it differently: a text
 * that goes on behind a NUL, and an object with two members of one name, of which it takes the last
 * and says nothing. Whoever proves the one and uses the other has proven nothing. */
#ifndef LIB_BASE_STRICT_JSON_H
#define LIB_BASE_STRICT_JSON_H

#include <stddef.h>

#include "lib/base/error.h"

struct json_object;

/* `root` is what json-c, told to be strict, has made of the text. INVALID_ARGUMENT with the reason
 * when that is not all of it. */
int strict_json_check(const char *text, size_t len, struct json_object *root, struct error **err);

#endif
