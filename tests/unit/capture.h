/* SPDX-License-Identifier: Apache-2.0 */
/* What a piece of code writes to stderr, which is where the log goes. */
#ifndef TESTS_UNIT_CAPTURE_H
#define TESTS_UNIT_CAPTURE_H

struct capture {
  int file;
  int saved;
};

void capture_start(struct capture *capture);
/* Puts stderr back; what was written meanwhile, to be freed. */
char *capture_stop(struct capture *capture);

#endif
