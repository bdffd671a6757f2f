/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of imprint-populator. */
#ifndef POPULATOR_PROGRAM_OPTIONS_H
#define POPULATOR_PROGRAM_OPTIONS_H

#include "lib/base/log.h"
#include "populator/controllers/running.h"

enum options_result { OPTIONS_RUN, OPTIONS_EXIT };

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

/* OPTIONS_EXIT: what was asked for (--help, --version) is done. */
int options_parse(int argc, char **argv, struct options *ret_options,
                  enum options_result *ret_result, struct error **err);

#endif
