/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"
#include "populator/sink/sinks.h"

static const struct sink_ops *const sinks[] = {
    &sink_registry_ops, &sink_file_ops, /* takes whatever has no scheme */
};

#define SINKS (sizeof(sinks) / sizeof(sinks[0]))

int
sink_open(const char *url, const struct sink_options *options, uint64_t estimate,
          struct sink **ret_sink, struct error **err)
{
  for (size_t i = 0; i < SINKS; i++) {
    if (!sinks[i]->scheme || text_starts_with(url, sinks[i]->scheme))
      return sinks[i]->open(url, options, estimate, ret_sink, err);
  }
  return error_set(err, ERROR_INVALID_ARGUMENT, "'%.64s': no such kind of destination", url);
}
