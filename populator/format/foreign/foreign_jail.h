/* SPDX-License-Identifier: Apache-2.0 */
/* What qemu-nbd is shut into. A decoder of half a dozen formats gets bytes that may be made to
 * break it, and some of these formats name other files, so all that it has is two sockets:
 *
 *   - until it gets the first byte of the image it can open libraries, which it needs to start.
 *     Afterwards it can open nothing: each attempt is put to whoever runs it, and refused;
 *   - it runs no other program, by the same means;
 *   - it makes no sockets, no processes, and no system call that it does not need;
 *   - its memory and its time are limited, and it dies with whoever runs it. */
#ifndef POPULATOR_FORMAT_FOREIGN_FOREIGN_JAIL_H
#define POPULATOR_FORMAT_FOREIGN_FOREIGN_JAIL_H

#include "lib/base/subprocess.h"

struct foreign_jail;

/* For one program. Takes no effect yet. */
int foreign_jail_new(const char *program, struct foreign_jail **ret_jail, struct error **err);
void foreign_jail_free(struct foreign_jail *jail);
DEFINE_CLEANUP(struct foreign_jail *, foreign_jail_free)

/* Runs the program in it. UNIMPLEMENTED where the kernel cannot keep the promise about files.
 * `options` names up to SUBPROCESS_FDS_MAX - 2 descriptors, and no preparation. Its questions must
 * be answered from here on: see foreign_jail_listener(). */
int foreign_jail_run(struct foreign_jail *jail, const struct subprocess_options *options,
                     struct subprocess **ret_subprocess, struct error **err);

/* Readable when the program wants to open a file, or to run a program. */
int foreign_jail_listener(const struct foreign_jail *jail);
/* Answers one question: yes until foreign_jail_close_files(), no after it. */
void foreign_jail_answer(struct foreign_jail *jail);
/* From here on no file can be opened. */
void foreign_jail_close_files(struct foreign_jail *jail);
/* The file that it wanted in vain, as far as it is known; NULL when there was none. */
const char *foreign_jail_wanted(const struct foreign_jail *jail);

#endif
