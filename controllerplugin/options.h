/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#ifndef CONTROLLERPLUGIN_OPTIONS_H
#define CONTROLLERPLUGIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/log.h"

struct options {
  const char *endpoint;
  const char *config;
  const char *state_dir;
  const char *driver_name;
  const char *worker;
  uint64_t keep_base_images_s; /* 0: for ever */
  bool allow_local_addresses;
  const char *allow_network; /* what imports may connect to beside what they name, or NULL */
  enum log_level log_level;
  int64_t grace_ms;
  int64_t rpc_timeout_ms;
  uint64_t workers;
};

/* *ret_is_over: what was asked for (--help, --version) is done. The strings are argv's. */
int options_parse(int argc, char **argv, struct options *ret_options, bool *ret_is_over,
                  struct error **err);

#endif
