/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of imprint-populator. */
#ifndef POPULATOR_PROGRAM_OPTIONS_H
#define POPULATOR_PROGRAM_OPTIONS_H

#include "lib/base/log.h"
#include "populator/controllers/running.h"

struct options {
  const char *kubeconfig; /* NULL: this pod's service account */
  struct populator_options populator;
  const char *metrics_listen; /* NULL: no metrics */
  const char *upload_listen;  /* NULL: no uploads */
  const char *upload_certificate;
  const char *upload_key;
  const char *upload_url; /* how clients reach it; NULL: not known */
  uint64_t upload_max_bytes;
  enum log_level log_level;
};

/* *ret_is_over: what was asked for (--help, --version) is done. The strings are argv's. */
int options_parse(int argc, char **argv, struct options *ret_options, bool *ret_is_over,
                  struct error **err);

#endif
