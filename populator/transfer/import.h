/* SPDX-License-Identifier: Apache-2.0 */
/* Imports an image: from wherever, whatever it is, into an RBD image.
 *
 * A source that can be read anywhere and holds the image as it is goes through import_chunks.h; all
 * others are read front to back, import_front.h. Either can be killed at any moment and called
 * again: it goes on. */
#ifndef POPULATOR_TRANSFER_IMPORT_H
#define POPULATOR_TRANSFER_IMPORT_H

#include "lib/ceph/image_create.h"
#include "populator/format/foreign/foreign_helper.h"
#include "populator/source/source.h"
#include "populator/transfer/checksum.h"
#include "populator/transfer/progress.h"

struct import_options {
  const char *url;
  struct source_options source;
  struct location *location;
  const char *image;              /* name of the target */
  struct image_layout layout;     /* of the target, when it is made */
  bool is_existing;               /* fill an image that is there */
  const char *token;              /* for one that is there: see import_done.h; or NULL */
  uint64_t size;                  /* of the target; content must fit. 0: as large as the content */
  const char *checksum;           /* of the source's bytes, "sha256:…", or NULL */
  bool wants_digest;              /* make one of them where nobody tells it */
  const char *format;             /* "auto", or what the content must be */
  const char *snapshot;           /* made when all is there, or NULL */
  struct foreign_helper *foreign; /* or NULL: foreign formats are refused */
  unsigned workers;
  struct progress *progress;
};

/* librbd's have 14 characters at most. */
#define IMPORT_IMAGE_ID_MAX 64

struct import_result {
  char format[16]; /* "qcow2" */
  uint64_t virtual_size;
  bool is_part;        /* of an upload: more of it is to come, and nothing else is known */
  uint64_t resumed_at; /* bytes of the source that an earlier process had done */
  /* "sha256:…": the checksum, or what the source itself goes by (of a container image, that of the
   * image), or what was made of its bytes; "" where it is not known. */
  char digest[CHECKSUM_TEXT_MAX];
  /* The id of the image that says that this has not been told; "": none. See import_done_told(). */
  char untold[IMPORT_IMAGE_ID_MAX];
};

/* On success the target is complete and marked so. On failure it stays for the next call, unless
 * the image itself is at fault (INVALID_ARGUMENT, DATA_LOSS, OUT_OF_RANGE, FAILED_PRECONDITION):
 * then nothing of it stays. */
int import_run(const struct import_options *options, struct import_result *ret_result,
               struct error **err);

#endif
