/* SPDX-License-Identifier: Apache-2.0 */
/* imprint push */
#include "populator/transfer/push.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/confine_export.h"
#include "cli/export_flags.h"
#include "cli/interrupt.h"
#include "cli/progress_view.h"
#include "cli/source_flags.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/http/file_url.h"
#include "populator/transfer/export_run.h"
#include "populator/transfer/inspect.h"

#define IMAGE_SCHEME "rbd:"
#define NAME_MAX_LEN 64

static bool is_json;

static const struct flag flags[] = {
    {"json", FLAG_SWITCH, &is_json, NULL, "progress and result as JSON, an object a line", NULL},
};

static const struct flag_set push_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {
    &push_flags,   &container_disk_flags, &export_format_flags,
    &source_flags, &ceph_flags,           &confine_flags,
    NULL};

static void
print_result(const struct progress *progress, const char *url, const char *digest)
{
  if (!is_json) {
    (void)puts(digest);
    return;
  }
  struct json_object *object = json_object_new_object();
  json_object_object_add(object, "event", json_object_new_string("done"));
  json_object_object_add(object, "verb", json_object_new_string("push"));
  json_object_object_add(object, "image", json_object_new_string(url));
  json_object_object_add(object, "digest", json_object_new_string(digest));
  json_object_object_add(object, "fetched",
                         json_object_new_uint64(atomic_load(&progress->fetched)));
  (void)puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
                                                        JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put(object);
}

/* ---- a file ------------------------------------------------------------------------------------
 */

/* Whether the layer is worth compressing; the file is looked at for that. */
static int
choose_layer(const char *path, bool *ret_is_compressed, struct error **err)
{
  const struct source_options none = {0};
  struct inspection file;
  if (inspect(path, &none, &file, err) < 0)
    return -1;
  bool has_compressed_clusters =
      file.compressed_clusters && strcmp(file.compressed_clusters, "none") != 0;
  bool is_compressed = file.wrapping || has_compressed_clusters;
  inspection_clear(&file);
  return export_flags_layer(is_compressed, ret_is_compressed, err);
}

/* The file's own, where an image can have it. */
static const char *
name_of_file(const char *path)
{
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  if (export_flags_disk_name())
    return export_flags_disk_name();
  return text_is_plain_name(name, NAME_MAX_LEN) ? name : NULL;
}

static int
push_path(const char *path, const char *url, struct progress *progress, char **ret_digest,
          struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  struct source_options source;
  struct push_file_options options = {.path = path, .url = url, .progress = progress};
  if (confine_export_file(path, url, &confinement, err) < 0 ||
      choose_layer(path, &options.push.is_compressed, err) < 0)
    return -1;
  source_flags_options(&source);
  cluster_config_clear(&source.ceph);
  options.push.name = name_of_file(path);
  options.push.platform = source.platform;
  options.push.registry = (struct registry_options){.http = source.http,
                                                    .insecure = source.registry_insecure,
                                                    .auth_file = source.registry_auth_file};
  interrupt_cancels(progress);
  struct progress_view *view = progress_view_start("push", progress, is_json);
  int r = push_file(&options, ret_digest, err);
  progress_view_stop(view);
  return r;
}

/* ---- an RBD image ------------------------------------------------------------------------------
 */

static int
push_image(struct image_spec *spec, const char *url, struct progress *progress, char **ret_digest,
           struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  struct export_options options;
  if (export_flags_options(url, &options, err) < 0 ||
      confine_export_image(spec, url, &confinement, &location, err) < 0)
    return -1;
  options.progress = progress;
  options.sink.ret_digest = ret_digest;
  interrupt_cancels(progress);
  struct progress_view *view = progress_view_start("push", progress, is_json);
  int r = export_run(location, spec->image, spec->snapshot, &options, err);
  progress_view_stop(view);
  return r;
}

/* ---- which of them -----------------------------------------------------------------------------
 */

/* What is there as a file is one, and what can be nothing else; else it is an image's name. */
static bool
is_path(const char *text)
{
  struct stat status;
  if (text_starts_with(text, IMAGE_SCHEME))
    return false;
  return *text == '/' || *text == '.' || stat(text, &status) == 0 || !strchr(text, '/');
}

static int
push(const char *what, const char *url, struct progress *progress, char **ret_digest,
     struct error **err)
{
  CLEANUP(freep) char *path = NULL;
  if (file_url_path(what, &path, err) < 0)
    return -1;
  if (file_url_is(what) || is_path(what))
    return push_path(path, url, progress, ret_digest, err);
  struct image_spec spec;
  if (text_starts_with(what, IMAGE_SCHEME))
    what += strlen(IMAGE_SCHEME);
  if (image_spec_parse(what, &spec, err) < 0)
    return -1;
  int r = push_image(&spec, url, progress, ret_digest, err);
  image_spec_clear(&spec);
  return r;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  const char *what = arguments->items[0];
  const char *url = arguments->items[1];
  CLEANUP(freep) char *digest = NULL;
  struct progress progress = {0};
  if (sink_kind_of(url) != SINK_CONTAINER_DISK)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "'%.128s': docker://REGISTRY/REPOSITORY:TAG or oci-archive:PATH is needed; "
                     "imprint export writes to other places",
                     url);
  if (push(what, url, &progress, &digest, err) < 0)
    return error_wrap(err, "push '%.128s'", what);
  print_result(&progress, url, digest);
  return 0;
}

static const struct command_example examples[] = {
    {"A file", "imprint push debian-12.qcow2 docker://registry.example.com/vms/debian:12"},
    {"An RBD image, from a snapshot",
     "imprint push vms/debian-12@base docker://registry.example.com/vms/debian:12"},
    {"Into an archive, to be carried to a registry out of reach",
     "imprint push debian-12.qcow2 oci-archive:debian-12.tar:vms/debian:12"},
    {0},
};

const struct command command_push = {
    .name = "push",
    .usage = "FILE|POOL/IMAGE[@SNAPSHOT] docker://REGISTRY/REPOSITORY:TAG|oci-archive:PATH[:NAME]",
    .schemes = "docker:// oci-archive: rbd:",
    .summary = "Make a container disk of an image and push it to a registry, or into an archive",
    .text =
        "A container disk is an OCI image of one layer with the disk in it, /disk/NAME, owned by\n"
        "107:107, as KubeVirt wants it. A FILE is pushed as it is, qcow2 or raw. Of an RBD image\n"
        "only what is allocated is read, from @SNAPSHOT or from a snapshot taken for it. What is\n"
        "there as a file is taken for one; rbd:POOL/IMAGE is always an image. A layer that the\n"
        "registry has is not sent again: the same disk makes the same digest, which is printed.\n"
        "\n"
        "The password for --user is taken from $IMPRINT_PASSWORD, a token from\n"
        "$IMPRINT_BEARER_TOKEN, others from --auth-file.\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run,
};
