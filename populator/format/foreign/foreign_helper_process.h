/* SPDX-License-Identifier: Apache-2.0 */
/* The helper's own side. See foreign_helper.h. */
#ifndef POPULATOR_FORMAT_FOREIGN_FOREIGN_HELPER_PROCESS_H
#define POPULATOR_FORMAT_FOREIGN_FOREIGN_HELPER_PROCESS_H

#include <stdint.h>

#include "populator/format/foreign/foreign_helper.h"

enum helper_request {
  HELPER_OPEN,
  HELPER_CLOSE_FILES,
  HELPER_REPORT, /* what became of qemu-nbd */
};

struct helper_message {
  enum helper_request request;
  char format[16];
  int64_t wait_ms; /* for its end */
};

/* The answer to each: 0, or an error's code and message. */
struct helper_answer {
  int code;
  char message[1024];
};

/* What it was born with. */
struct helper_sockets {
  int control;
  int file;     /* qemu-nbd's end */
  int listener; /* qemu-nbd takes connections from it */
};

/* Never returns. */
void helper_process_run(const struct helper_sockets *sockets,
                        const struct foreign_helper_options *options) __attribute__((noreturn));

#endif
