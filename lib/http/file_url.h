/* SPDX-License-Identifier: Apache-2.0 */
/* file:///PATH: one reading of it for all who take files by URL. Where a source, a destination and
 * the sandbox each had their own, what was written as file:///a%20b could not be read again. */
#ifndef LIB_HTTP_FILE_URL_H
#define LIB_HTTP_FILE_URL_H

#include <stdbool.h>

#include "lib/base/error.h"

#define FILE_URL_SCHEME "file:"

bool file_url_is(const char *text);
/* The path that is meant: of file:///PATH with its %XX decoded; any other text is a path itself. To
 * be freed. INVALID_ARGUMENT when it names a file of another host, or none. */
int file_url_path(const char *text, char **ret_path, struct error **err);

#endif
