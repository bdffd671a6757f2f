/* SPDX-License-Identifier: Apache-2.0 */
/* --beneath DIR: the source is a file below a folder, whoever named it. Files of a node are read
 * for people who may not read that node: no "..", no link and no device may lead them further. */
#ifndef CLI_BENEATH_H
#define CLI_BENEATH_H

#include "cli/flags.h"

extern const struct flag_set beneath_flags;

/* Before the confinement begins. Without the flag *ret_url, to be freed, is the url; with it, the
 * file is open, and *ret_url is how it is read. A folder stands for the disk.img in it. NOT_FOUND,
 * or INVALID_ARGUMENT for what is no file below that folder. */
int beneath_source(const char *url, char **ret_url, struct error **err);

#endif
