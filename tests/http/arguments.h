/* SPDX-License-Identifier: Apache-2.0 */
/* The options that the programs here share, as source_options: credentials, CA, proxy, S3. */
#ifndef TESTS_HTTP_ARGUMENTS_H
#define TESTS_HTTP_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "populator/source/source.h"

#define ARGUMENTS_HEADERS_MAX 8

struct arguments {
  struct source_options options;
  const char *headers[ARGUMENTS_HEADERS_MAX + 1];
  bool is_stream;      /* --stream */
  bool is_open_only;   /* --open: nothing is read */
  bool is_abort;       /* --abort */
  uint64_t offset;     /* --offset */
  uint64_t chunk;      /* --chunk */
  uint64_t threads;    /* --threads */
  uint64_t read_bytes; /* --read: how much is asked for at once */
  uint64_t pause_ms;   /* --pause: between two reads */
  uint64_t cancel_ms;  /* --cancel: after so long */
  uint64_t max_body;   /* --max-body */
  const char *resume;  /* --resume */
  const char *method;  /* --method */
  const char *body;    /* --body */
  const char *url;
};

/* Ends the program when they cannot be read. */
void arguments_parse(int argc, char **argv, struct arguments *ret_arguments);

/* {"error": …, "message": …} on stdout; the exit status. */
int arguments_failed(const struct error *err);
/* With quotes and backslashes escaped. */
void arguments_print_text(const char *name, const char *value);

#endif
