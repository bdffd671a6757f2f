/* SPDX-License-Identifier: Apache-2.0 */
/* imprint resolve: which version of an image is behind a URL, by one or two small requests. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli/ceph_flags.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/source_flags.h"
#include "lib/base/memory.h"
#include "lib/base/semver.h"
#include "lib/base/text.h"
#include "populator/registry/reference.h"
#include "populator/registry/registry_client.h"
#include "populator/source/registry.h"
#include "populator/source/source.h"

static bool is_json;

static const struct flag flags[] = {
    {"json", FLAG_SWITCH, &is_json, NULL, "the result as one JSON object", NULL},
};

static const struct flag_set resolve_flags = {flags, sizeof(flags) / sizeof(flags[0])};
static const struct flag_set *const sets[] = {&resolve_flags, &source_flags, &ceph_flags,
                                              &confine_flags, NULL};

struct resolution {
  char *identity; /* "sha256:…", "etag:…" */
  char *tag;      /* that was chosen, or NULL */
  char *url;      /* of just this version, where one can be named */
};

static void
resolution_clear(struct resolution *resolution)
{
  free(resolution->identity);
  free(resolution->tag);
  free(resolution->url);
}

/* ---- registries --------------------------------------------------------------------------------
 */

/* The highest version there is; without any, "latest" stands. */
static int
choose_tag(const char *url, const struct source_options *options, struct reference *reference,
           struct error **err)
{
  char **tags;
  if (registry_tags(url, options, &tags, err) < 0)
    return -1;
  const char *highest = semver_highest((const char *const *)tags);
  if (highest)
    reference->tag = xstrdup(highest);
  registry_tags_free(tags);
  return 0;
}

static int
resolve_registry(const char *url, const struct source_options *options,
                 struct resolution *resolution, struct error **err)
{
  CLEANUP(reference_clear) struct reference reference = {0};
  if (reference_parse(url, &reference, err) < 0)
    return -1;
  if (!reference.tag && !reference.digest && choose_tag(url, options, &reference, err) < 0)
    return -1;
  CLEANUP(freep) char *tagged = reference_url(&reference);
  if (registry_resolve(tagged, options, &resolution->identity, err) < 0)
    return -1;
  resolution->tag = xstrdup(reference.tag);
  resolution->url = xasprintf(REFERENCE_SCHEME "%s/%s@%s", reference.host, reference.repository,
                              resolution->identity);
  return 0;
}

/* ---- others ------------------------------------------------------------------------------------
 */

static int
resolve_other(const char *url, struct source_options *options, struct resolution *resolution,
              struct error **err)
{
  CLEANUP(source_closep) struct source *source = NULL;
  options->is_glance = true;
  if (source_open(url, options, &source, err) < 0)
    return -1;
  if (!source->identity)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "%s: the server tells neither ETag nor Last-Modified, so a new version does "
                     "not show",
                     source->label);
  resolution->identity = xstrdup(source->identity);
  return 0;
}

static void
print_json(const struct resolution *resolution)
{
  struct json_object *object = json_object_new_object();
  (void)json_object_object_add(object, "identity", json_object_new_string(resolution->identity));
  if (resolution->tag)
    (void)json_object_object_add(object, "tag", json_object_new_string(resolution->tag));
  if (resolution->url)
    (void)json_object_object_add(object, "url", json_object_new_string(resolution->url));
  (void)puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put(object);
}

static int
confine(const char *url, const struct source_options *options, struct confinement **ret_confinement,
        struct error **err)
{
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  struct confine_needs needs = {0};
  int r = confine_needs_add_source(&needs, url, options, err);
  if (r == 0)
    r = confine_begin(&needs, &confinement, err);
  confine_needs_clear(&needs);
  if (r < 0 || ceph_flags_confine_source(url, NULL, confinement, err) < 0 ||
      confine_seal(confinement, err) < 0)
    return -1;
  *ret_confinement = TAKE(confinement);
  return 0;
}

static int
run(const struct arguments *arguments, struct error **err)
{
  const char *url = arguments->items[0];
  CLEANUP(confinement_freep) struct confinement *confinement = NULL;
  CLEANUP(resolution_clear) struct resolution resolution = {0};
  struct source_options options;
  source_flags_options(&options);
  int r = confine(url, &options, &confinement, err);
  if (r == 0)
    r = text_starts_with(url, REFERENCE_SCHEME) ? resolve_registry(url, &options, &resolution, err)
                                                : resolve_other(url, &options, &resolution, err);
  cluster_config_clear(&options.ceph);
  if (r < 0)
    return error_wrap(err, "resolve");
  if (is_json)
    print_json(&resolution);
  else
    (void)printf("%s\n", resolution.url ? resolution.url : resolution.identity);
  return 0;
}

static const struct command_example examples[] = {
    {"The digest behind a tag, as a URL that never means another image",
     "imprint resolve docker://registry.example/disks/fedora:40"},
    {"Whether there is a new version", "imprint resolve --json https://images.example/disk.qcow2"},
    {0},
};

const struct command command_resolve = {
    .name = "resolve",
    .usage = "SOURCE",
    .schemes = COMMAND_SOURCES,
    .summary = "Tell which version of an image is there now",
    .text =
        "SOURCE is a URL that import takes. Of a registry it is the digest that the tag stands\n"
        "for, printed as a URL that always means this very image; without a tag, the one with the\n"
        "highest version is chosen (as of semver.org, else \"latest\"). Of other servers it is "
        "what\n"
        "they tell an image's versions apart by. Nothing of the image itself is fetched.\n",
    .sets = sets,
    .examples = examples,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
