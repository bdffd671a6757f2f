/* SPDX-License-Identifier: Apache-2.0 */
/* oci-archive:PATH[:NAME] of an archive that is to be made. The path ends at the first colon, as
 * skopeo has it; a source, which can look, takes others too. */
#ifndef POPULATOR_SINK_ARCHIVE_NAME_H
#define POPULATOR_SINK_ARCHIVE_NAME_H

#include "lib/base/error.h"

#define ARCHIVE_NAME_SCHEME "oci-archive:"

/* *ret_path is to be freed; *ret_name is a part of the URL, or NULL. */
int archive_name_parse(const char *url, char **ret_path, const char **ret_name, struct error **err);

#endif
