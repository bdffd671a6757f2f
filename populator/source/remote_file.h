/* SPDX-License-Identifier: Apache-2.0 */
/* A file behind an HTTP server: what http.c and s3.c have in common. Whatever tells one version of
 * the file from another is learnt when it is opened and demanded of every answer after that. */
#ifndef POPULATOR_SOURCE_REMOTE_FILE_H
#define POPULATOR_SOURCE_REMOTE_FILE_H

#include "populator/source/source.h"

/* `s3` signs the requests, or is NULL. */
int remote_file_open(const struct source_ops *ops, const char *url,
                     const struct source_options *options, const struct s3_options *s3,
                     struct source **ret_source, struct error **err);

/* Members of the ops table. */
int remote_file_read_at(struct source *source, void *buf, size_t len, uint64_t offset,
                        struct error **err);
int remote_file_stream(struct source *source, uint64_t offset, struct stream **ret_stream,
                       struct error **err);
void remote_file_cancel(struct source *source);
void remote_file_close(struct source *source);

#endif
