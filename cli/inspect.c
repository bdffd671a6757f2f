/* SPDX-License-Identifier: Apache-2.0 */
/* imprint inspect */
#include "populator/transfer/inspect.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli/beneath.h"
#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/retry_view.h"
#include "cli/source_flags.h"
#include "cli/volume_source.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

static bool is_json;

static const struct flag flags[] = {
    {"json", FLAG_SWITCH, &is_json, NULL, "the result as one JSON object", NULL},
};

static const struct flag_set inspect_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&inspect_flags, &source_flags,  &beneath_flags,
                                              &ceph_flags,    &confine_flags, NULL};

DEFINE_CLEANUP(struct json_object *, json_object_put)

/* ---- for programs ------------------------------------------------------------------------------
 */

/* What is not known is left out. Names of files may be in any encoding, JSON is in one. */
static void
add_text(struct json_object *object, const char *name, const char *text)
{
  if (!text)
    return;
  CLEANUP(freep) char *copy = xstrdup(text);
  if (!text_is_utf8(text, strlen(text)))
    text_make_line(copy);
  (void)json_object_object_add(object, name, json_object_new_string(copy));
}

static void
add_size(struct json_object *object, const char *name, uint64_t size)
{
  if (size != IMAGE_SIZE_UNKNOWN)
    (void)json_object_object_add(object, name, json_object_new_uint64(size));
}

static void
add_claim(struct json_object *object, const char *name, bool is_so)
{
  if (is_so)
    (void)json_object_object_add(object, name, json_object_new_boolean(true));
}

static struct json_object *
container_object(const struct source *source)
{
  const struct source_container *container = source->container;
  struct json_object *object = json_object_new_object();
  struct json_object *env = json_object_new_object();
  add_text(object, "digest", container->digest);
  add_text(object, "platform", container->platform);
  add_text(object, "path", container->path);
  add_text(object, "layer", container->layer);
  add_size(object, "layerSize", container->layer_size);
  add_text(object, "layerCompression", container->layer_compression);
  for (size_t i = 0; i < source->env.count; i++)
    add_text(env, source->env.entries[i].key, source->env.entries[i].value);
  (void)json_object_object_add(object, "env", env);
  return object;
}

static void
add_facts(struct json_object *object, const struct image_facts *facts)
{
  add_size(object, "virtualSize", facts->virtual_size);
  add_size(object, "clusterSize", facts->cluster_size ? facts->cluster_size : IMAGE_SIZE_UNKNOWN);
  add_text(object, "compression", facts->compression);
  add_text(object, "encryption", facts->encryption);
  add_text(object, "backingFile", facts->backing_file);
  add_text(object, "backingFormat", facts->backing_format);
  add_text(object, "dataFile", facts->data_file);
  add_size(object, "snapshots", facts->snapshot_count ? facts->snapshot_count : IMAGE_SIZE_UNKNOWN);
  add_claim(object, "dirty", facts->is_dirty);
  add_claim(object, "corrupt", facts->is_corrupt);
  add_claim(object, "subclusters", facts->has_subclusters);
  add_claim(object, "lazyRefcounts", facts->has_lazy_refcounts);
}

/* Of the bytes of the source, or of the image that they are in. */
static const char *
digest_of(const struct source *source)
{
  return source->digest ? source->digest : source->container ? source->container->digest : NULL;
}

static void
print_json(const struct inspection *i)
{
  CLEANUP(json_object_putp) struct json_object *object = json_object_new_object();
  add_text(object, "source", i->source->label);
  add_text(object, "digest", digest_of(i->source));
  add_text(object, "identity", i->source->identity);
  add_size(object, "size", i->source->size);
  if (i->source->container)
    (void)json_object_object_add(object, "container", container_object(i->source));
  add_text(object, "wrapping", i->wrapping);
  add_text(object, "format", i->probe.name);
  add_text(object, "variant", i->facts.variant);
  add_text(object, "content", i->probe.detail);
  add_facts(object, &i->facts);
  add_text(object, "compressedClusters", i->compressed_clusters);
  (void)json_object_object_add(object, "importable", json_object_new_boolean(!i->refusal));
  add_text(object, "refusal", i->refusal ? i->refusal->message : NULL);
  (void)puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* ---- for people --------------------------------------------------------------------------------
 */

/* A line each: what is in an image must not move the cursor of who looks at it. */
static void
print_row(const char *name, const char *text, const char *more)
{
  if (!text)
    return;
  CLEANUP(freep)
  char *row =
      xasprintf("%-14s%s%s%s%s", name, text, more ? " (" : "", more ? more : "", more ? ")" : "");
  text_make_line(row);
  (void)puts(row);
}

static void
print_size(const char *name, uint64_t size)
{
  char text[TEXT_BYTES_MAX];
  if (size == IMAGE_SIZE_UNKNOWN) {
    print_row(name, "not known before it is read", NULL);
    return;
  }
  CLEANUP(freep) char *bytes = xasprintf("%" PRIu64 " bytes", size);
  print_row(name, text_of_about_bytes(size, text), size < 1024 ? NULL : bytes);
}

static void
print_source(const struct inspection *i)
{
  const struct source *source = i->source;
  const struct source_container *container = source->container;
  print_row("source", source->label, NULL);
  if (container) {
    char size[TEXT_BYTES_MAX];
    CLEANUP(freep)
    char *layer = xasprintf("%s, compression: %s", text_of_about_bytes(container->layer_size, size),
                            container->layer_compression);
    CLEANUP(freep) char *path = xasprintf("/%s", container->path);
    print_row("image", container->digest, container->platform);
    print_row("layer", container->layer, layer);
    print_row("file", path, NULL);
  } else {
    print_row("digest", source->digest, NULL);
    print_row("identity", source->identity, NULL);
  }
  print_size("file size", source->size);
  print_row("inside", i->wrapping, NULL);
}

static void
print_chain(const struct image_facts *facts)
{
  if (facts->backing_file) {
    CLEANUP(freep)
    char *text = *facts->backing_file ? xasprintf("backing file '%s'", facts->backing_file)
                                      : xstrdup("has a backing file");
    print_row("chain", text, facts->backing_format);
  }
  if (facts->data_file) {
    CLEANUP(freep)
    char *text = *facts->data_file ? xasprintf("data file '%s'", facts->data_file)
                                   : xstrdup("has a data file");
    print_row("chain", text, NULL);
  }
  if (!facts->backing_file && !facts->data_file)
    print_row("chain", "none: the disk is in this file alone", NULL);
}

static const char *
clusters_text(const char *compressed)
{
  if (!compressed)
    return NULL;
  return strcmp(compressed, "all") == 0    ? "clusters are compressed"
         : strcmp(compressed, "some") == 0 ? "some clusters are compressed"
                                           : "no cluster that was looked at is compressed";
}

static void
print_image(const struct inspection *i)
{
  const struct image_facts *facts = &i->facts;
  print_row("format", i->probe.name, facts->variant ? facts->variant : i->probe.detail);
  print_size("virtual size", facts->virtual_size);
  if (facts->cluster_size)
    print_size("cluster size", facts->cluster_size);
  print_row("compression", facts->compression, clusters_text(i->compressed_clusters));
  print_row("encryption", facts->encryption, NULL);
  print_chain(facts);
  if (facts->snapshot_count) {
    CLEANUP(freep) char *count = xasprintf("%" PRIu64, facts->snapshot_count);
    print_row("snapshots", count, "internal, not imported");
  }
  CLEANUP(freep)
  char *state =
      xasprintf("%s%s%s%s", facts->is_dirty ? ", dirty" : "", facts->is_corrupt ? ", corrupt" : "",
                facts->has_subclusters ? ", subclusters" : "",
                facts->has_lazy_refcounts ? ", lazy refcounts" : "");
  print_row("features", *state ? state + 2 : NULL, NULL);
}

static void
print_table(const struct inspection *i)
{
  print_source(i);
  print_image(i);
  if (i->refusal)
    print_row("import", "refused", i->refusal->message);
  else
    print_row("import", "possible", "as far as this look tells");
}

static int
confine(const char *url, struct source_options *options, struct confinement **ret_confinement,
        char **ret_url, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  struct confine_needs needs = {0};
  int r = volume_source_add_needs(url, options, &needs, err);
  if (r == 0)
    r = confine_begin(&needs, &confinement, err);
  confine_needs_clear(&needs);
  if (r < 0 || ceph_flags_confine_source(url, NULL, confinement, err) < 0 ||
      volume_source_resolve(url, confinement, options, ret_url, err) < 0 ||
      confine_seal(confinement, err) < 0)
    return -1;
  *ret_confinement = TAKE(confinement);
  return 0;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(freep) char *source = NULL;
  CLEANUP(freep) char *url = NULL;
  struct source_options options;
  struct inspection inspection;
  if (beneath_source(arguments->items[0], &source, err) < 0)
    return error_wrap(err, "inspect");
  source_flags_options(&options);
  options.http.on_retry = retry_view(is_json);
  int r = confine(source, &options, &confinement, &url, err);
  if (r == 0)
    r = inspect(url, &options, &inspection, err);
  cluster_config_clear(&options.ceph);
  if (r < 0)
    return error_wrap(err, "inspect");
  (is_json ? print_json : print_table)(&inspection);
  inspection_clear(&inspection);
  return 0;
}

static const struct command_example examples[] = {
    {"An image on a web server", "imprint inspect https://cloud.debian.org/images/debian-12.qcow2"},
    {"A container disk, for a program",
     "imprint inspect docker://quay.io/containerdisks/fedora:41 --json"},
    {0},
};

const struct command command_inspect = {
    .name = "inspect",
    .usage = "SOURCE",
    .schemes = COMMAND_SOURCES,
    .summary = "Tell what an image is, without downloading it",
    .text =
        "SOURCE is what import takes. Format, virtual size, cluster size, compression, chain and\n"
        "digest are told from a few pieces of it: by ranges where the server has them. An image\n"
        "that an import would refuse is described too, with the reason; the exit status is 0\n"
        "then. What only all of it would show (a checksum, damage amid the data) is not looked\n"
        "for.\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
