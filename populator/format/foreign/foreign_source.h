/* SPDX-License-Identifier: Apache-2.0 */
/* The disk that is in a file of a foreign format (vmdk, vdi, VHD, VHDX, qed), as a source of its
 * own: the file's bytes go to qemu-nbd, and come back decoded. */
#ifndef POPULATOR_FORMAT_FOREIGN_FOREIGN_SOURCE_H
#define POPULATOR_FORMAT_FOREIGN_FOREIGN_SOURCE_H

#include "populator/format/foreign/foreign_helper.h"
#include "populator/source/source.h"

/* The file must be one that can be read anywhere. File and helper stay the caller's and must
 * outlive the result. INVALID_ARGUMENT when the file is not sound, or refers to another one. */
int foreign_source_open(struct foreign_helper *helper, struct source *file, const char *format,
                        struct source **ret_source, struct error **err);

#endif
