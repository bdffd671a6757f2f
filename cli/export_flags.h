/* SPDX-License-Identifier: Apache-2.0 */
/* What export and push share: the format of the file that is made of an RBD image, and how a
 * container disk is made of that. */
#ifndef CLI_EXPORT_FLAGS_H
#define CLI_EXPORT_FLAGS_H

#include "cli/flags.h"
#include "populator/transfer/export.h"

/* --format, --compress, --jobs */
extern const struct flag_set export_format_flags;
/* --disk-name, --layer */
extern const struct flag_set container_disk_flags;

/* What the flags say: format, workers, and of the sink all but where its digest goes. The strings
 * live as long as the process. */
int export_flags_options(const char *url, struct export_options *ret_options, struct error **err);
/* "qcow2": as --format says, or what the destination takes. */
const char *export_flags_format(const char *url);
/* Whether the layer is compressed: as --layer says, else unless what is in it is compressed itself.
 */
int export_flags_layer(bool is_disk_compressed, bool *ret_is_compressed, struct error **err);
/* As --disk-name says, or NULL. */
const char *export_flags_disk_name(void);

#endif
