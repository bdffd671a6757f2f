/* SPDX-License-Identifier: Apache-2.0 */
/* The sinks there are; sink_table.c lists them. */
#ifndef POPULATOR_SINK_SINKS_H
#define POPULATOR_SINK_SINKS_H

#include "populator/sink/sink.h"

extern const struct sink_ops sink_file_ops;        /* paths, file:// */
extern const struct sink_ops sink_pipe_ops;        /* "-": opened by sink_file_ops */
extern const struct sink_ops sink_descriptor_ops;  /* fd: */
extern const struct sink_ops sink_http_ops;        /* http: */
extern const struct sink_ops sink_https_ops;       /* https: */
extern const struct sink_ops sink_nbd_ops;         /* nbd: */
extern const struct sink_ops sink_nbds_ops;        /* nbds: */
extern const struct sink_ops sink_nbd_unix_ops;    /* nbd+unix: */
extern const struct sink_ops sink_oci_archive_ops; /* oci-archive: */
extern const struct sink_ops sink_registry_ops;    /* docker: */
extern const struct sink_ops sink_s3_ops;          /* s3: */

#endif
