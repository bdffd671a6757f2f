/* SPDX-License-Identifier: Apache-2.0 */
/* What the Python tests beside it run: sources of container disks from the command line, with every
 * way to read them, and a way to stop in the middle.
 *
 *   registry_tool [OPTION…] info URL       what is known of the source
 *   registry_tool [OPTION…] cat URL        its bytes, as a stream
 *   registry_tool [OPTION…] seek URL       its bytes, in pieces by several threads
 *   registry_tool [OPTION…] resolve URL    the digest behind a tag
 *   registry_tool [OPTION…] tags URL       all tags
 *   registry_tool [OPTION…] push URL FILE  a container disk made of a file
 *   registry_tool [OPTION…] sink URL FILE  the same through the sink of exports
 *
 * Addresses of this machine are allowed: that is where the tests' servers are. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/registry/registry_client.h"
#include "populator/sink/container_disk_push.h"
#include "populator/sink/sink.h"
#include "populator/source/registry.h"
#include "populator/source/source.h"
#include "populator/transfer/checksum.h"

#define PIECE_BYTES ((size_t)100000)
#define THREADS 3

static struct {
  struct source_options source;
  uint64_t stop_after;    /* cat: so many bytes … */
  const char *file;       /* push */
  bool is_compressed;     /* push */
  bool is_probed;         /* push */
  const char *name;       /* push */
  const char *mount_from; /* push */
  const char *state_file; /* … then the state is saved here; or gone on from, if it is there */
} options = {.source.http = {.allow_local_addresses = true, .retries = 3, .retry_first_ms = 20}};

static int
fail(const struct error *err)
{
  (void)fprintf(stderr, "%s: %s\n", error_code_name((int)err->code), err->message);
  return 1;
}

static void
put(const void *data, size_t len)
{
  if (fwrite(data, 1, len, stdout) != len)
    errx(2, "cannot write");
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static int
run_info(struct source *source, struct error **err)
{
  (void)printf("label %s\nsize %" PRIu64 "\nidentity %s\nseek %d\nresume %d\n", source->label,
               source->size, source->identity, source->can_seek, source->can_resume);
  for (size_t i = 0; i < source->env.count; i++)
    (void)printf("env %s=%s\n", source->env.entries[i].key, source->env.entries[i].value);
  CLEANUP(stream_closep) struct stream *stream = NULL;
  if (source->ops->stream(source, 0, &stream, err) < 0)
    return -1;
  (void)printf("save %d\n", stream_can_save(stream));
  return 0;
}

/* The state, or nothing when there is none yet. */
static void
load_state(struct buffer *state)
{
  CLEANUP(closep) int fd = options.state_file ? open(options.state_file, O_RDONLY | O_CLOEXEC) : -1;
  char piece[4096];
  ssize_t got;
  while (fd >= 0 && (got = read(fd, piece, sizeof(piece))) > 0)
    (void)buffer_append(state, piece, (size_t)got);
}

static int
save_state(struct stream *stream, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  if (stream_save(stream, &state, err) < 0)
    return -1;
  CLEANUP(closep)
  int fd = open(options.state_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, state.data, state.len) != (ssize_t)state.len)
    return error_set_errno(err, errno, "write %s", options.state_file);
  return 0;
}

static int
open_stream(struct source *source, struct stream **ret_stream, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer state = {0};
  size_t used;
  load_state(&state);
  if (state.len == 0)
    return source->ops->stream(source, 0, ret_stream, err);
  if (source->ops->restore(source, state.data, state.len, &used, ret_stream, err) < 0)
    return -1;
  return used == state.len ? 0 : error_set(err, ERROR_INTERNAL, "a part of the state is left");
}

static int
run_cat(struct source *source, struct error **err)
{
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(freep) char *piece = xcalloc(PIECE_BYTES, 1);
  if (open_stream(source, &stream, err) < 0)
    return -1;
  for (uint64_t total = 0; !options.stop_after || total < options.stop_after;) {
    size_t len = PIECE_BYTES;
    if (options.stop_after && options.stop_after - total < len)
      len = (size_t)(options.stop_after - total);
    ssize_t got = stream_read(stream, piece, len, err);
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    put(piece, (size_t)got);
    total += (uint64_t)got;
  }
  return options.state_file ? save_state(stream, err) : 0;
}

struct seeking {
  struct source *source;
  char *content;
  atomic_size_t next;
  pthread_mutex_t mutex; /* guards failure */
  struct error *failure;
};

static void *
seek_main(void *arg)
{
  struct seeking *seeking = arg;
  size_t size = (size_t)seeking->source->size;
  size_t at;
  while ((at = atomic_fetch_add(&seeking->next, PIECE_BYTES)) < size) {
    struct error *failure = NULL;
    size_t len = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
    if (seeking->source->ops->read_at(seeking->source, seeking->content + at, len, at, &failure) ==
        0)
      continue;
    (void)pthread_mutex_lock(&seeking->mutex);
    if (seeking->failure)
      error_free(failure);
    else
      seeking->failure = failure;
    (void)pthread_mutex_unlock(&seeking->mutex);
    break;
  }
  return NULL;
}

static int
run_seek(struct source *source, struct error **err)
{
  if (!source->can_seek)
    return error_set(err, ERROR_UNIMPLEMENTED, "cannot seek");
  CLEANUP(freep) char *content = xcalloc(source->size + 1, 1);
  struct seeking seeking = {.source = source, .content = content};
  (void)pthread_mutex_init(&seeking.mutex, NULL);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    (void)pthread_create(&threads[i], NULL, seek_main, &seeking);
  for (size_t i = 0; i < THREADS; i++)
    (void)pthread_join(threads[i], NULL);
  if (seeking.failure) {
    *err = seeking.failure;
    return -1;
  }
  struct checksum checksum;
  if (source->ops->digest_begin(source, &checksum, err) < 0)
    return -1;
  checksum_update(&checksum, content, source->size);
  if (source->ops->digest_end(source, &checksum, err) < 0)
    return -1;
  put(content, source->size);
  return 0;
}

static int
with_source(const char *url, int (*run)(struct source *source, struct error **err),
            struct error **err)
{
  CLEANUP(source_closep) struct source *source = NULL;
  if (source_open(url, &options.source, &source, err) < 0)
    return -1;
  return run(source, err);
}

/* ---- asking ------------------------------------------------------------------------------------
 */

static int
run_resolve(const char *url, struct error **err)
{
  CLEANUP(freep) char *digest = NULL;
  if (registry_resolve(url, &options.source, &digest, err) < 0)
    return -1;
  (void)puts(digest);
  return 0;
}

static int
run_tags(const char *url, struct error **err)
{
  char **tags;
  if (registry_tags(url, &options.source, &tags, err) < 0)
    return -1;
  for (size_t i = 0; tags[i]; i++)
    (void)puts(tags[i]);
  registry_tags_free(tags);
  return 0;
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static int
open_file(void *context, struct stream **ret_stream, struct error **err)
{
  CLEANUP(source_closep) struct source *source = NULL;
  struct source **kept = context;
  source_close(TAKE(*kept));
  if (source_open(options.file, &options.source, &source, err) < 0 ||
      source->ops->stream(source, 0, ret_stream, err) < 0)
    return -1;
  *kept = TAKE(source); /* as long as the stream */
  return 0;
}

static uint64_t
file_size(void)
{
  struct stat status;
  const char *path = options.file ? options.file : "";
  if (stat(path, &status) < 0)
    err(2, "%s", path);
  return (uint64_t)status.st_size;
}

static int
run_push(const char *url, struct error **err)
{
  CLEANUP(source_closep) struct source *source = NULL;
  CLEANUP(freep) char *digest = NULL;
  const struct push_options push = {
      .registry = {.http = options.source.http,
                   .insecure = options.source.registry_insecure,
                   .auth_file = options.source.registry_auth_file,
                   .mount_from = options.mount_from},
      .name = options.name,
      .platform = options.source.platform,
      .is_compressed = options.is_compressed,
  };
  const struct push_content content = {.size = file_size(), .open = open_file, .context = &source};
  if (container_disk_push(url, &push, &content, options.is_probed, &digest, err) < 0)
    return -1;
  (void)puts(digest);
  return 0;
}

static int
give_file(struct sink *sink, struct error **err)
{
  CLEANUP(source_closep) struct source *source = NULL;
  CLEANUP(stream_closep) struct stream *stream = NULL;
  CLEANUP(freep) char *piece = xcalloc(PIECE_BYTES, 1);
  if (open_file(&source, &stream, err) < 0)
    return -1;
  ssize_t got;
  while ((got = stream_read_most(stream, piece, PIECE_BYTES, err)) > 0) {
    bool is_zero = !piece[0] && memcmp(piece, piece + 1, (size_t)got - 1) == 0;
    if ((is_zero ? sink->ops->append_zeros(sink, (uint64_t)got, err)
                 : sink->ops->append(sink, piece, (size_t)got, err)) < 0)
      return -1;
  }
  return (int)got;
}

static int
fill_sink(struct sink *sink, uint64_t size, struct error **err)
{
  bool is_there;
  if (sink->ops->set_size(sink, size, err) < 0 || give_file(sink, err) < 0 ||
      sink->ops->measured(sink, &is_there, err) < 0)
    return -1;
  return is_there ? 0 : give_file(sink, err);
}

static int
run_sink(const char *url, struct error **err)
{
  const struct sink_options sink_options = {
      .http = options.source.http,
      .registry_insecure = options.source.registry_insecure,
      .registry_auth_file = options.source.registry_auth_file,
      .layer_gzip = options.is_compressed,
      .disk_name = options.name,
      .platform = options.source.platform,
  };
  struct sink *sink;
  if (sink_open(url, &sink_options, file_size(), &sink, err) < 0)
    return -1;
  int r = fill_sink(sink, file_size(), err);
  if (r == 0)
    r = sink->ops->commit(sink, err);
  if (r < 0)
    sink->ops->abort(sink);
  sink->ops->close(sink);
  return r;
}

/* ---- the command line --------------------------------------------------------------------------
 */

enum {
  OPT_INSECURE = 256,
  OPT_USER,
  OPT_PASSWORD,
  OPT_BEARER,
  OPT_AUTH_FILE,
  OPT_CA,
  OPT_PLATFORM,
  OPT_PATH,
  OPT_STOP_AFTER,
  OPT_STATE,
  OPT_GZIP,
  OPT_PROBED,
  OPT_NAME,
  OPT_MOUNT_FROM
};

static const struct option long_options[] = {
    {"insecure", no_argument, NULL, OPT_INSECURE},
    {"user", required_argument, NULL, OPT_USER},
    {"password", required_argument, NULL, OPT_PASSWORD},
    {"bearer", required_argument, NULL, OPT_BEARER},
    {"auth-file", required_argument, NULL, OPT_AUTH_FILE},
    {"ca", required_argument, NULL, OPT_CA},
    {"platform", required_argument, NULL, OPT_PLATFORM},
    {"path", required_argument, NULL, OPT_PATH},
    {"stop-after", required_argument, NULL, OPT_STOP_AFTER},
    {"state", required_argument, NULL, OPT_STATE},
    {"gzip", no_argument, NULL, OPT_GZIP},
    {"probed", no_argument, NULL, OPT_PROBED},
    {"name", required_argument, NULL, OPT_NAME},
    {"mount-from", required_argument, NULL, OPT_MOUNT_FROM},
    {0},
};

static void
take_option(int option)
{
  const struct {
    int option;
    const char **member;
  } texts[] = {
      {OPT_USER, &options.source.http.user},
      {OPT_PASSWORD, &options.source.http.password},
      {OPT_BEARER, &options.source.http.bearer},
      {OPT_AUTH_FILE, &options.source.registry_auth_file},
      {OPT_CA, &options.source.http.ca_bundle},
      {OPT_PLATFORM, &options.source.platform},
      {OPT_PATH, &options.source.path_in_image},
      {OPT_STATE, &options.state_file},
      {OPT_NAME, &options.name},
      {OPT_MOUNT_FROM, &options.mount_from},
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    if (texts[i].option == option)
      *texts[i].member = optarg;
  }
  const struct {
    int option;
    bool *member;
  } switches[] = {
      {OPT_INSECURE, &options.source.registry_insecure},
      {OPT_GZIP, &options.is_compressed},
      {OPT_PROBED, &options.is_probed},
  };
  for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
    if (switches[i].option == option)
      *switches[i].member = true;
  }
  if (option == OPT_STOP_AFTER && text_to_u64(optarg, 10, &options.stop_after) < 0)
    errx(2, "--stop-after %s", optarg);
  if (option == '?')
    errx(2, "see the head of registry_tool.c");
}

static int
run(const char *command, char **arguments, struct error **err)
{
  if (strcmp(command, "info") == 0)
    return with_source(arguments[0], run_info, err);
  if (strcmp(command, "cat") == 0)
    return with_source(arguments[0], run_cat, err);
  if (strcmp(command, "seek") == 0)
    return with_source(arguments[0], run_seek, err);
  if (strcmp(command, "resolve") == 0)
    return run_resolve(arguments[0], err);
  if (strcmp(command, "tags") == 0)
    return run_tags(arguments[0], err);
  options.file = arguments[1];
  if (options.file && strcmp(command, "push") == 0)
    return run_push(arguments[0], err);
  if (options.file && strcmp(command, "sink") == 0)
    return run_sink(arguments[0], err);
  errx(2, "see the head of registry_tool.c");
}

int
main(int argc, char **argv)
{
  int option;
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
    take_option(option);
  if (argc - optind < 2)
    errx(2, "see the head of registry_tool.c");
  CLEANUP(error_freep) struct error *err = NULL;
  if (run(argv[optind], argv + optind + 1, &err) < 0)
    return fail(err);
  return fflush(stdout) == 0 ? 0 : 2;
}
