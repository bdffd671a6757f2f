/* SPDX-License-Identifier: Apache-2.0 */
/* The sinks there are; sink_table.c lists them. */
#ifndef POPULATOR_SINK_SINKS_H
#define POPULATOR_SINK_SINKS_H

#include "populator/sink/sink.h"

extern const struct sink_ops sink_file_ops;     /* paths, file:// */
extern const struct sink_ops sink_pipe_ops;     /* "-": opened by sink_file_ops */
extern const struct sink_ops sink_registry_ops; /* docker: */

#endif
