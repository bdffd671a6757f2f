/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/inspect.h"

#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "populator/format/qcow2_file.h"
#include "populator/source/disk_stream.h"
#include "populator/source/seek_stream.h"
#include "populator/source/tar_disk.h"
#include "populator/transfer/import_disk.h"
#include "populator/transfer/import_stack.h"

/* How far a stream is looked into. */
#define BEGINNING_BYTES PROBE_BYTES
/* Of those that map the disk of a qcow2 file, at each end. */
#define TABLES_LOOKED_AT 4

void
inspection_clear(struct inspection *inspection)
{
  image_facts_clear(&inspection->facts);
  error_free(inspection->refusal);
  source_close(inspection->source);
  free(inspection->wrapping);
  *inspection = (struct inspection){0};
}

/* ---- a file that can be looked at anywhere -----------------------------------------------------
 */

static ssize_t
read_source(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct source *source = context;
  if (offset >= source->size)
    return 0;
  if (len > source->size - offset)
    len = (size_t)(source->size - offset);
  return source->ops->read_at(source, buf, len, offset, err) < 0 ? -1 : (ssize_t)len;
}

static int
read_file(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  struct source *source = context;
  return source->ops->read_at(source, buf, len, offset, err);
}

/* A damaged or unsupported file is what this is about; a server that fails is not. */
static bool
is_about_the_image(const struct error *failure)
{
  return failure->code == ERROR_INVALID_ARGUMENT || failure->code == ERROR_DATA_LOSS ||
         failure->code == ERROR_UNIMPLEMENTED;
}

/* Takes `failure`. */
static int
take_refusal(struct inspection *i, struct error *failure, struct error **err)
{
  if (is_about_the_image(failure)) {
    error_free(i->refusal);
    i->refusal = failure;
    return 0;
  }
  *err = failure;
  return -1;
}

struct cluster_look {
  const struct qcow2_file *file;
  const struct qcow2_tables *tables;
  uint64_t plain;
  uint64_t compressed;
};

static int
look_at_run(void *context, const struct qcow2_run *run, struct error **err)
{
  struct cluster_look *look = context;
  const struct qcow2_tables *tables = look->tables;
  *(run->kind == QCOW2_COMPRESSED ? &look->compressed : &look->plain) += 1;
  return qcow2_run_check(&tables->header, run, &tables->metadata, look->file->size, err);
}

/* The tables that map the disk may be many: the first and the last of them are looked at. A file
 * that was cut off shows in the last. */
static int
look_at_clusters(struct cluster_look *look, struct error **err)
{
  uint64_t end = look->tables->header.l1_entries;
  uint64_t first = 0, last = end;
  for (unsigned i = 0; i < TABLES_LOOKED_AT; i++, first++) {
    while (first < end && look->tables->l1[first] == 0)
      first++;
    if (first >= end)
      return 0;
    if (qcow2_file_l2(look->file, look->tables, first, first + 1, look_at_run, look, err) < 0)
      return -1;
  }
  for (unsigned i = 0; i < TABLES_LOOKED_AT; i++) {
    while (last > first && look->tables->l1[last - 1] == 0)
      last--;
    if (last <= first)
      return 0;
    last--;
    if (qcow2_file_l2(look->file, look->tables, last, last + 1, look_at_run, look, err) < 0)
      return -1;
  }
  return 0;
}

static int
check_qcow2_tables(struct inspection *i, struct error **err)
{
  const struct qcow2_file file = {
      .read_at = read_file, .context = i->source, .size = i->source->size};
  CLEANUP(qcow2_tables_clear) struct qcow2_tables tables = {0};
  struct error *failure = NULL;
  if (qcow2_file_tables(&file, &tables, &failure) < 0)
    return take_refusal(i, failure, err);
  struct cluster_look look = {.file = &file, .tables = &tables};
  if (look_at_clusters(&look, &failure) < 0)
    return take_refusal(i, failure, err);
  if (look.plain > 0 || look.compressed > 0)
    i->compressed_clusters = look.compressed == 0 ? "none" : look.plain == 0 ? "all" : "some";
  return 0;
}

/* A raw disk, unless a footer makes it a VHD of fixed size. */
static int
look_at_end(struct inspection *i, struct error **err)
{
  char footer[PROBE_FOOTER_BYTES];
  uint64_t size = i->source->size;
  i->facts.virtual_size = size;
  if (size <= sizeof(footer))
    return 0;
  if (read_file(i->source, footer, sizeof(footer), size - sizeof(footer), err) < 0)
    return -1;
  if (probe_is_vhd_footer(footer, sizeof(footer))) {
    i->probe = (struct probe){.format = PROBE_VHD, .name = "vhd"};
    i->facts.variant = xstrdup("fixed");
    i->facts.virtual_size = size - sizeof(footer);
  }
  return 0;
}

static int
look_anywhere(struct inspection *i, struct error **err)
{
  const struct image_facts_input input = {.read = read_source, .context = i->source};
  if (image_facts_read(i->probe.format, &input, &i->facts, err) < 0)
    return -1;
  if (i->probe.format == PROBE_RAW)
    return look_at_end(i, err);
  return i->probe.format == PROBE_QCOW2 ? check_qcow2_tables(i, err) : 0;
}

/* ---- one that is read front to back ------------------------------------------------------------
 */

static ssize_t
read_beginning(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  (void)err;
  const struct buffer *beginning = context;
  if (offset >= beginning->len)
    return 0;
  if (len > beginning->len - offset)
    len = beginning->len - (size_t)offset;
  memcpy(buf, beginning->data + offset, len);
  return (ssize_t)len;
}

/* The names of the streams that take something off, the lowest first. */
static char *
wrapping_of(const struct stream *stream)
{
  static const char *const wrappers[] = {"gzip", "xz", "zstd", TAR_DISK_STREAM_NAME};
  char *names = NULL;
  /* What is around a disk in a container image belongs to that. */
  for (; stream && strcmp(stream->ops->name, DISK_STREAM_NAME) != 0; stream = stream->below) {
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
      if (strcmp(stream->ops->name, wrappers[i]) != 0)
        continue;
      char *more = xasprintf("%s%s%s", wrappers[i], names ? ", " : "", names ? names : "");
      free(names);
      names = more;
    }
  }
  return names;
}

static int
check_qcow2_header(struct inspection *i, const struct buffer *beginning, uint64_t size,
                   struct error **err)
{
  struct qcow2_header header;
  struct error *failure = NULL;
  if (qcow2_header_parse(beginning->data, beginning->len, size, &header, &failure) < 0)
    return take_refusal(i, failure, err);
  return 0;
}

static int
read_stream(struct inspection *i, struct stream *stream, uint64_t size, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer beginning = {.data = xcalloc(BEGINNING_BYTES + 1, 1)};
  ssize_t len = stream_read_most(stream, beginning.data, BEGINNING_BYTES, err);
  if (len < 0)
    return -1;
  beginning.len = (size_t)len;
  const struct image_facts_input input = {.read = read_beginning, .context = &beginning};
  if (image_facts_read(i->probe.format, &input, &i->facts, err) < 0)
    return -1;
  if (i->probe.format == PROBE_RAW)
    i->facts.virtual_size = size;
  return i->probe.format == PROBE_QCOW2 ? check_qcow2_header(i, &beginning, size, err) : 0;
}

static int
look_along(struct inspection *i, const char *path, struct error **err)
{
  CLEANUP(stream_closep) struct stream *inside = NULL;
  struct source *source = i->source;
  struct stream *stream;
  uint64_t size = source->size;
  if ((source->can_seek ? seek_stream_open : source->ops->stream)(source, 0, &stream, err) < 0 ||
      import_stack_unwrap(stream, source->container ? NULL : path, &inside, &i->probe, &size, err) <
          0)
    return error_wrap(err, "%s", source->label);
  i->wrapping = wrapping_of(inside);
  return read_stream(i, inside, size, err);
}

/* ---- what speaks against it --------------------------------------------------------------------
 */

#define REFUSE(i, ...) (void)error_set(&(i)->refusal, ERROR_INVALID_ARGUMENT, __VA_ARGS__)

/* What has no reader of its own here that would say it. */
static void
check_format(struct inspection *i)
{
  const struct image_facts *facts = &i->facts;
  if (i->probe.format == PROBE_RAW || i->probe.format == PROBE_QCOW2)
    return;
  if (!probe_is_foreign(i->probe.format))
    (void)probe_refuse(&i->probe, &i->refusal);
  else if (facts->backing_file)
    REFUSE(i, "%s: it has a parent%s%s%s", i->probe.name, *facts->backing_file ? " ('" : "",
           facts->backing_file, *facts->backing_file ? "')" : "");
  else if (facts->data_file)
    REFUSE(i, "%s: its data is in another file ('%s')", i->probe.name, facts->data_file);
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static int
look(struct inspection *i, const char *path, struct error **err)
{
  if (i->source->can_seek && import_disk_probe(i->source, &i->probe, err) < 0)
    return -1;
  bool is_anywhere =
      i->source->can_seek && !probe_is_compressed(i->probe.format) && i->probe.format != PROBE_TAR;
  if ((is_anywhere ? look_anywhere(i, err) : look_along(i, path, err)) < 0)
    return -1;
  check_format(i);
  return 0;
}

int
inspect(const char *url, const struct source_options *options, struct inspection *ret_inspection,
        struct error **err)
{
  struct source_options own = *options;
  own.is_glance = true;
  CLEANUP(inspection_clear) struct inspection i = {0};
  if (source_open(url, &own, &i.source, err) < 0 || look(&i, own.path_in_image, err) < 0)
    return -1;
  *ret_inspection = i;
  i = (struct inspection){0};
  return 0;
}
