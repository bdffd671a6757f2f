/* SPDX-License-Identifier: Apache-2.0 */
/* A raw disk: the file is the content. What the source knows to be zeros (holes of a sparse file,
 * of an export, of an image) is not even read. */
#ifndef POPULATOR_TRANSFER_RAW_LAYOUT_H
#define POPULATOR_TRANSFER_RAW_LAYOUT_H

#include "populator/source/source.h"
#include "populator/transfer/layout.h"

/* The source must outlive it. */
struct layout *raw_layout_new(struct source *source);

#endif
