/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a source as the import engine does, with several threads, and writes what comes to a file.
 * Prints one JSON object: what the source is like, or what went wrong.
 *
 *   disk_probe [OPTION...] URL */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/format/foreign/foreign_source.h"
#include "populator/source/source.h"

#define THREADS_MAX 64
#define RANGES_SHOWN 1000

struct options {
  struct source_options source;
  struct foreign_helper_options helper;
  const char *format; /* of the file, when it is a foreign one */
  const char *output; /* NULL: nothing is read but the size */
  bool only_data;     /* as data_range tells it */
  bool is_stream;     /* by stream in place of read_at */
  bool has_map;       /* tell where data is */
  uint64_t threads;
  uint64_t chunk;
  uint64_t offset; /* … and len: not the whole, but this */
  uint64_t len;
};

static const struct option long_options[] = {
    {"allow-local", no_argument, NULL, 'l'},
    {"ca", required_argument, NULL, 'c'},
    {"stall", required_argument, NULL, 's'},
    {"retries", required_argument, NULL, 'r'},
    {"retry-first-ms", required_argument, NULL, 'm'},
    {"threads", required_argument, NULL, 't'},
    {"chunk", required_argument, NULL, 'k'},
    {"format", required_argument, NULL, 'f'},
    {"program", required_argument, NULL, 'p'},
    {"uid", required_argument, NULL, 'u'},
    {"output", required_argument, NULL, 'o'},
    {"only-data", no_argument, NULL, 'd'},
    {"stream", no_argument, NULL, 'S'},
    {"map", no_argument, NULL, 'M'},
    {"offset", required_argument, NULL, 'O'},
    {"len", required_argument, NULL, 'L'},
    {"conf", required_argument, NULL, 'C'},
    {"keyring", required_argument, NULL, 'K'},
    {NULL, 0, NULL, 0},
};

/* ---- reading -----------------------------------------------------------------------------------
 */

struct reading {
  const struct options *options;
  struct source *source;
  int fd;
  uint64_t end;
  pthread_mutex_t mutex; /* guards all below */
  uint64_t next;
  struct error *failure;
};

/* The next piece that is to be read; 0 when there is none. */
static size_t
next_piece(struct reading *reading, uint64_t *ret_offset)
{
  struct source *source = reading->source;
  size_t len = 0;
  (void)pthread_mutex_lock(&reading->mutex);
  uint64_t start = reading->next, end = reading->end;
  int r = 0;
  if (reading->options->only_data && source->ops->data_range && start < end && !reading->failure)
    r = source->ops->data_range(source, start, &start, &end, &reading->failure);
  if (end > reading->end)
    end = reading->end;
  if (r == 0 && !reading->failure && start < end) {
    len = (size_t)(end - start < reading->options->chunk ? end - start : reading->options->chunk);
    *ret_offset = start;
    reading->next = start + len;
  }
  (void)pthread_mutex_unlock(&reading->mutex);
  return len;
}

static void *
reader_main(void *arg)
{
  struct reading *reading = arg;
  CLEANUP(freep) char *buf = xcalloc(1, reading->options->chunk);
  struct error *err = NULL;
  uint64_t offset = 0;
  size_t len;
  while (!err && (len = next_piece(reading, &offset)) > 0) {
    if (reading->source->ops->read_at(reading->source, buf, len, offset, &err) == 0 &&
        pwrite(reading->fd, buf, len, (off_t)offset) != (ssize_t)len)
      error_make_errno(&err, errno, "write the output");
  }
  (void)pthread_mutex_lock(&reading->mutex);
  if (!reading->failure)
    reading->failure = TAKE(err);
  (void)pthread_mutex_unlock(&reading->mutex);
  error_free(err);
  return NULL;
}

static int
read_parallel(struct reading *reading, struct error **err)
{
  pthread_t threads[THREADS_MAX];
  unsigned count = 0;
  while (count < reading->options->threads && count < THREADS_MAX &&
         pthread_create(&threads[count], NULL, reader_main, reading) == 0)
    count++;
  for (unsigned i = 0; i < count; i++)
    (void)pthread_join(threads[i], NULL);
  if (!reading->failure)
    return 0;
  *err = TAKE(reading->failure);
  return -1;
}

static int
read_stream(struct reading *reading, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(freep) char *buf = xcalloc(1, reading->options->chunk);
  if (reading->source->ops->stream(reading->source, reading->next, &stream, err) < 0)
    return -1;
  ssize_t len;
  while ((len = stream_read(stream, buf, reading->options->chunk, err)) > 0) {
    if (pwrite(reading->fd, buf, (size_t)len, (off_t)reading->next) != len)
      return error_set_errno(err, errno, "write the output");
    reading->next += (uint64_t)len;
  }
  return len < 0 ? -1 : 0;
}

static int
read_all(const struct options *options, struct source *source, struct error **err)
{
  CLEANUP(closep)
  int fd = open(options->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, (off_t)source->size) < 0)
    return error_set_errno(err, errno, "make '%s'", options->output);
  struct reading reading = {.options = options,
                            .source = source,
                            .fd = fd,
                            .next = options->offset,
                            .end = options->len ? options->offset + options->len : source->size};
  (void)pthread_mutex_init(&reading.mutex, NULL);
  int r = options->is_stream ? read_stream(&reading, err) : read_parallel(&reading, err);
  (void)pthread_mutex_destroy(&reading.mutex);
  return r;
}

/* ---- telling -----------------------------------------------------------------------------------
 */

static void
add_text(struct json_object *object, const char *key, const char *text)
{
  (void)json_object_object_add(object, key, text ? json_object_new_string(text) : NULL);
}

/* [[start, end], …] as data_range tells it. */
static int
add_ranges(struct json_object *object, struct source *source, struct error **err)
{
  struct json_object *ranges = json_object_new_array();
  (void)json_object_object_add(object, "data", ranges);
  uint64_t at = 0;
  for (size_t i = 0; i < RANGES_SHOWN && at < source->size; i++) {
    uint64_t start, end;
    if (source->ops->data_range(source, at, &start, &end, err) < 0)
      return -1;
    if (start == source->size)
      break;
    struct json_object *range = json_object_new_array();
    (void)json_object_array_add(range, json_object_new_uint64(start));
    (void)json_object_array_add(range, json_object_new_uint64(end));
    (void)json_object_array_add(ranges, range);
    at = end;
  }
  return 0;
}

static int
examine(const struct options *options, struct source *source, struct json_object *object,
        struct error **err)
{
  (void)json_object_object_add(object, "size", json_object_new_uint64(source->size));
  add_text(object, "label", source->label);
  add_text(object, "identity", source->identity);
  if (options->has_map && source->ops->data_range && add_ranges(object, source, err) < 0)
    return -1;
  return options->output ? read_all(options, source, err) : 0;
}

static int
run(const struct options *options, const char *url, struct json_object *object, struct error **err)
{
  CLEANUP(foreign_helper_freep) struct foreign_helper *helper = NULL;
  CLEANUP(source_closep) struct source *file = NULL;
  CLEANUP(source_closep) struct source *disk = NULL;
  if (options->format && foreign_helper_start(&options->helper, &helper, err) < 0)
    return -1;
  if (source_open(url, &options->source, &file, err) < 0)
    return -1;
  if (!options->format)
    return examine(options, file, object, err);
  if (foreign_source_open(helper, file, options->format, &disk, err) < 0)
    return -1;
  return examine(options, disk, object, err);
}

/* ---- the command line --------------------------------------------------------------------------
 */

static bool
apply_number(struct options *options, int letter, const char *value)
{
  uint64_t number = 0;
  if (text_to_bytes(value, &number) < 0)
    return false;
  switch (letter) {
  case 's':
    options->source.http.stall_s = (unsigned)number;
    return true;
  case 'r':
    options->source.http.retries = (unsigned)number;
    return true;
  case 'm':
    options->source.http.retry_first_ms = (unsigned)number;
    return true;
  case 't':
    options->threads = number;
    return true;
  case 'k':
    options->chunk = number;
    return true;
  case 'O':
    options->offset = number;
    return true;
  case 'L':
    options->len = number;
    return true;
  case 'u':
    options->helper.uid = options->helper.gid = (uid_t)number;
    return true;
  default:
    return false;
  }
}

static bool
apply(struct options *options, int letter, char *value)
{
  switch (letter) {
  case 'l':
    return options->source.http.allow_local_addresses = true;
  case 'd':
    return options->only_data = true;
  case 'S':
    return options->is_stream = true;
  case 'M':
    return options->has_map = true;
  case 'c':
    options->source.http.ca_bundle = value;
    return true;
  case 'f':
    options->format = value;
    return true;
  case 'p':
    options->helper.program = value;
    return true;
  case 'o':
    options->output = value;
    return true;
  case 'C':
    options->source.ceph.conf_file = value;
    return true;
  case 'K':
    options->source.ceph.keyring = value;
    return true;
  default:
    return apply_number(options, letter, value);
  }
}

int
main(int argc, char **argv)
{
  char cluster_id[] = "local", user[] = "imprint";
  struct options options = {.threads = 4, .chunk = 1 << 20};
  options.source.ceph.cluster_id = cluster_id;
  options.source.ceph.user = user;
  int letter;
  while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    if (!apply(&options, letter, optarg))
      return 2;
  }
  if (argc - optind != 1)
    return 2;
  struct json_object *object = json_object_new_object();
  CLEANUP(error_freep) struct error *err = NULL;
  int r = run(&options, argv[optind], object, &err);
  if (r < 0) {
    add_text(object, "error", err->message);
    add_text(object, "code", error_code_name((int)err->code));
  }
  (void)printf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
  (void)json_object_put(object);
  return r < 0 ? 1 : 0;
}
