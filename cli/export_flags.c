/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export_flags.h"

#include <string.h>

#include "cli/source_flags.h"
#include "populator/transfer/export_copy.h"

#define JOBS_MAX 64

static const char *format;
static const char *compress;
static uint64_t jobs = 4;
static const char *disk_name;
static const char *layer = "auto";

static const struct flag format_flags[] = {
    {"format", FLAG_TEXT, &format, "qcow2|raw",
     "to write an RBD image in (default qcow2; onto a disk raw)", NULL},
    {"compress", FLAG_TEXT, &compress, "zlib|zstd|none",
     "clusters of a qcow2 (default zlib; in a container image none)", NULL},
    {"jobs", FLAG_NUMBER, &jobs, "N", "threads that read and compress (default 4)", NULL},
};

static const struct flag disk_flags[] = {
    {"disk-name", FLAG_TEXT, &disk_name, "NAME",
     "of the disk in a container image (default: the file's, or disk.img)", NULL},
    {"layer", FLAG_TEXT, &layer, "auto|gzip|none",
     "of a container image (default auto: gzip, unless the disk is compressed)", NULL},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const struct flag_set export_format_flags = {format_flags, COUNT(format_flags)};
const struct flag_set container_disk_flags = {disk_flags, COUNT(disk_flags)};

static bool
is_disk(const char *url)
{
  return sink_kind_of(url) == SINK_DISK || export_copy_is(url);
}

const char *
export_flags_format(const char *url)
{
  return format ? format : is_disk(url) ? "raw" : "qcow2";
}

const char *
export_flags_disk_name(void)
{
  return disk_name;
}

static int
check_disk(const char *url, struct error **err)
{
  if (is_disk(url) && (strcmp(export_flags_format(url), "raw") != 0 || compress))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.128s' is a disk, which gets the bytes of the image themselves: --format "
                     "is raw, and there is no --compress",
                     url);
  return 0;
}

/* A layer is compressed as a whole, in one pass; compressed clusters would take a pass more. */
static int
parse_format(const char *url, enum export_format *ret_format, struct error **err)
{
  static const struct {
    const char *compress;
    enum export_format value;
  } table[] = {{"zlib", EXPORT_QCOW2_ZLIB}, {"zstd", EXPORT_QCOW2_ZSTD}, {"none", EXPORT_QCOW2}};
  const char *how = compress                                   ? compress
                    : sink_kind_of(url) == SINK_CONTAINER_DISK ? "none"
                                                               : "zlib";
  const char *name = export_flags_format(url);
  if (strcmp(name, "raw") == 0) {
    *ret_format = EXPORT_RAW;
    return 0;
  }
  for (size_t i = 0; i < COUNT(table); i++) {
    if (strcmp(name, "qcow2") == 0 && strcmp(how, table[i].compress) == 0) {
      *ret_format = table[i].value;
      return 0;
    }
  }
  return error_set(
      err, ERROR_INVALID_ARGUMENT,
      "--format is qcow2 or raw, --compress is zlib, zstd or none; not '%.32s', '%.32s'", name,
      how);
}

int
export_flags_layer(bool is_disk_compressed, bool *ret_is_compressed, struct error **err)
{
  if (strcmp(layer, "auto") == 0)
    *ret_is_compressed = !is_disk_compressed;
  else if (strcmp(layer, "gzip") == 0 || strcmp(layer, "none") == 0)
    *ret_is_compressed = strcmp(layer, "gzip") == 0;
  else
    return error_set(err, ERROR_INVALID_ARGUMENT, "--layer is auto, gzip or none, not '%.32s'",
                     layer);
  return 0;
}

/* What the user says of the destination is what he says of a source. */
static void
set_sink_options(struct sink_options *sink)
{
  struct source_options source;
  source_flags_options(&source);
  *sink = (struct sink_options){.http = source.http,
                                .s3 = source.s3,
                                .registry_insecure = source.registry_insecure,
                                .registry_auth_file = source.registry_auth_file,
                                .disk_name = disk_name,
                                .platform = source.platform};
  cluster_config_clear(&source.ceph);
}

int
export_flags_options(const char *url, struct export_options *ret_options, struct error **err)
{
  struct export_options options = {.workers = (unsigned)jobs, .url = url};
  if (jobs < 1 || jobs > JOBS_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--jobs: a number from 1 to %d is needed",
                     JOBS_MAX);
  set_sink_options(&options.sink);
  if (check_disk(url, err) < 0 || parse_format(url, &options.format, err) < 0)
    return -1;
  bool is_compressed = options.format == EXPORT_QCOW2_ZLIB || options.format == EXPORT_QCOW2_ZSTD;
  if (export_flags_layer(is_compressed, &options.sink.layer_gzip, err) < 0)
    return -1;
  *ret_options = options;
  return 0;
}
