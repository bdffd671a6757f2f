/* SPDX-License-Identifier: Apache-2.0 */
/* The command line. */
#ifndef NODEPLUGIN_OPTIONS_H
#define NODEPLUGIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/string_map.h"

struct options {
  const char *endpoint;
  const char *config;
  const char *run_dir;
  const char *kubelet_dir;
  const char *registration_dir;  /* NULL: KUBELET_DIR/plugins_registry; "": not registered */
  const char *registered_socket; /* NULL: that of the endpoint */
  const char *driver_name;
  const char *node_name; /* NULL: the host's */
  const char *mapper;
  const char *helper_cgroups; /* NULL: helpers stay in ours */
  const char *topology_file;  /* NULL: none */
  struct string_map topology;
  struct string_map topology_labels; /* keys of labels, besides those of topology */
  bool topology_from_node;
  enum log_level log_level;
  int64_t grace_ms;
  int64_t rpc_timeout_ms;
  int64_t inline_expiry_ms;
  uint64_t workers;
  uint64_t max_volumes;
};

/* *ret_is_over: what was asked for (--help, --version) is done. The strings are argv's. */
int options_parse(int argc, char **argv, struct options *ret_options, bool *ret_is_over,
                  struct error **err);
void options_clear(struct options *options);

#endif
