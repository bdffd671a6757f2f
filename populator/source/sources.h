/* SPDX-License-Identifier: Apache-2.0 */
/* The sources there are; source_table.c lists them. */
#ifndef POPULATOR_SOURCE_SOURCES_H
#define POPULATOR_SOURCE_SOURCES_H

#include "populator/source/source.h"

extern const struct source_ops source_http_ops;
extern const struct source_ops source_https_ops;
extern const struct source_ops source_s3_ops;
extern const struct source_ops source_registry_ops;       /* docker: */
extern const struct source_ops source_oci_archive_ops;    /* oci-archive: */
extern const struct source_ops source_docker_archive_ops; /* docker-archive: */
extern const struct source_ops source_nbd_ops;
extern const struct source_ops source_nbds_ops;
extern const struct source_ops source_nbd_unix_ops;
extern const struct source_ops source_rbd_ops;
extern const struct source_ops source_file_ops;       /* file:, paths, "-" */
extern const struct source_ops source_descriptor_ops; /* fd: */
extern const struct source_ops source_upload_ops;

#endif
