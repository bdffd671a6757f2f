/* SPDX-License-Identifier: Apache-2.0 */
/* Runs qemu-nbd for a process that may not run programs. The helper is forked before the sandbox is
 * entered, sits idle, and starts qemu-nbd in its jail when it is told that an image is in a foreign
 * format. All sockets are made beforehand: the sandboxed process needs no path, no new descriptor
 * and nobody's permission. One image a helper.
 *
 *   this process                     helper                  qemu-nbd
 *     disk_server  ─── pair ──────────────────────────────────  reads the file
 *     disk_client  ─── connections, made beforehand ──────────  serves the disk
 *     foreign_helper ─ control ──── foreign_helper_process ───  stderr, questions of the jail */
#ifndef POPULATOR_FORMAT_FOREIGN_FOREIGN_HELPER_H
#define POPULATOR_FORMAT_FOREIGN_FOREIGN_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* To qemu-nbd, for several reads at once. It is a single thread's work over there. */
#define FOREIGN_HELPER_CONNECTIONS 4

struct foreign_helper_options {
  uid_t uid; /* for one that runs as root; 0: stay what we are */
  gid_t gid;
  const char *program; /* NULL: /usr/bin/qemu-nbd */
};

struct foreign_helper;

/* There must be no other threads. */
int foreign_helper_start(const struct foreign_helper_options *options,
                         struct foreign_helper **ret_helper, struct error **err);
/* Ends qemu-nbd and the helper. */
void foreign_helper_free(struct foreign_helper *helper);
DEFINE_CLEANUP(struct foreign_helper *, foreign_helper_free)

/* Whether qemu-nbd can read this format: "vmdk", "vdi", "vpc" (VHD), "vhdx", "qed". */
bool foreign_helper_knows(const char *format);

/* Starts qemu-nbd. FAILED_PRECONDITION when it was started before. */
int foreign_helper_open(struct foreign_helper *helper, const char *format, struct error **err);
/* From here on qemu-nbd can open no file: to be called before it gets the first byte. */
int foreign_helper_close_files(struct foreign_helper *helper, struct error **err);
/* Whether qemu-nbd is well: -1 with what it complained of, or what ended it. Waits so long for an
 * end that may just be coming. */
int foreign_helper_check(struct foreign_helper *helper, int64_t wait_ms, struct error **err);

/* Where qemu-nbd reads the file from: NBD is to be served there. */
int foreign_helper_file_socket(const struct foreign_helper *helper);
/* A connection to the disk that it makes of the file. Whoever takes one closes it; -1 when all are
 * taken. Any thread. */
int foreign_helper_take_connection(struct foreign_helper *helper);

#endif
