/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/oci_platform.h"

#include <string.h>
#include <sys/utsname.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"

/* A message names no more than this many of the platforms there are. */
#define NAMED_MAX 16

/* What Linux calls a machine, and Go. */
static const struct {
  const char *machine;
  const char *architecture;
  const char *variant;
} machines[] = {
    {"x86_64", "amd64", NULL},        {"aarch64", "arm64", "v8"},   {"armv7l", "arm", "v7"},
    {"armv6l", "arm", "v6"},          {"ppc64le", "ppc64le", NULL}, {"s390x", "s390x", NULL},
    {"riscv64", "riscv64", NULL},     {"i686", "386", NULL},        {"i386", "386", NULL},
    {"loongarch64", "loong64", NULL},
};

#define MACHINES (sizeof(machines) / sizeof(machines[0]))

void
oci_platform_clear(struct oci_platform *platform)
{
  free(platform->architecture);
  free(platform->variant);
  *platform = (struct oci_platform){0};
}

static void
platform_of_machine(struct oci_platform *platform)
{
  struct utsname names;
  (void)uname(&names);
  for (size_t i = 0; i < MACHINES; i++) {
    if (strcmp(names.machine, machines[i].machine) == 0) {
      platform->architecture = xstrdup(machines[i].architecture);
      platform->variant = xstrdup(machines[i].variant);
      return;
    }
  }
  platform->architecture = xstrdup(names.machine);
}

static bool
is_word(const char *text)
{
  size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.");
  return len > 0 && len < 32 && !text[len];
}

/* People and tools also say what Linux calls it. */
static const char *
go_word(const char *text)
{
  for (size_t i = 0; i < MACHINES; i++) {
    if (strcmp(text, machines[i].machine) == 0)
      return machines[i].architecture;
  }
  return text;
}

int
oci_platform_parse(const char *text, struct oci_platform *ret_platform, struct error **err)
{
  struct oci_platform platform = {0};
  if (!text) {
    platform_of_machine(&platform);
    *ret_platform = platform;
    return 0;
  }
  const char *from = strncmp(text, "linux/", 6) == 0 ? text + 6 : text;
  const char *slash = strchr(from, '/');
  CLEANUP(freep)
  char *architecture = slash ? xstrndup(from, (size_t)(slash - from)) : xstrdup(from);
  if (!is_word(architecture) || (slash && !is_word(slash + 1)))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "platform '%.64s': an architecture such as amd64 or arm64/v8 is needed", text);
  platform.architecture = xstrdup(go_word(architecture));
  platform.variant = slash ? xstrdup(slash + 1) : NULL;
  *ret_platform = platform;
  return 0;
}

static bool
same(const char *a, const char *b)
{
  return a && b && strcmp(a, b) == 0;
}

/* arm64 has had no variant but v8 for long, so that one is often left out. */
static const char *
full_variant(const char *architecture, const char *variant)
{
  return !variant && same(architecture, "arm64") ? "v8" : variant;
}

/* How well an entry fits: 0 not at all; more is better. An image for an older variant runs on a
 * newer machine ("v6" < "v7"). */
static unsigned
fit(const struct oci_platform *platform, const struct oci_choice *choice)
{
  if (!same(choice->architecture, platform->architecture) ||
      (choice->os && *choice->os && strcmp(choice->os, "linux") != 0))
    return 0;
  const char *wanted = full_variant(platform->architecture, platform->variant);
  const char *offered = full_variant(choice->architecture, choice->variant);
  if (same(wanted, offered) || (!wanted && !offered))
    return 4;
  if (!offered)
    return 3;
  if (!wanted)
    return 2;
  return strlen(offered) == strlen(wanted) && strcmp(offered, wanted) < 0 ? 1 : 0;
}

/* Words from outside are cut short. */
static char *
platform_text(const char *os, const char *architecture, const char *variant)
{
  bool has_variant = variant && *variant;
  return xasprintf("%.32s/%.32s%s%.32s", os ? os : "?", architecture ? architecture : "?",
                   has_variant ? "/" : "", has_variant ? variant : "");
}

char *
oci_platform_of_config(const struct oci_config *config)
{
  if (!config->architecture || !*config->architecture)
    return NULL;
  return platform_text(config->os, config->architecture, config->variant);
}

static int
none_fits(const struct oci_platform *platform, const struct oci_index *index, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer names = {0};
  (void)buffer_append_text(&names, "");
  for (size_t i = 0; i < index->count && i < NAMED_MAX; i++) {
    const struct oci_choice *choice = &index->choices[i];
    CLEANUP(freep) char *name = platform_text(choice->os, choice->architecture, choice->variant);
    (void)buffer_append_text(&names, i > 0 ? ", " : "");
    (void)buffer_append_text(&names, name);
  }
  return error_set(err, ERROR_NOT_FOUND, "the image is not there for linux/%s%s%s; it is for %s%s",
                   platform->architecture, platform->variant ? "/" : "",
                   platform->variant ? platform->variant : "", names.data,
                   index->count > NAMED_MAX ? " and more" : "");
}

int
oci_platform_choose(const struct oci_platform *platform, const struct oci_index *index,
                    const struct oci_choice **ret_choice, struct error **err)
{
  const struct oci_choice *best = NULL;
  unsigned best_fit = 0;
  for (size_t i = 0; i < index->count; i++) {
    unsigned this_fit = fit(platform, &index->choices[i]);
    if (this_fit > best_fit) {
      best = &index->choices[i];
      best_fit = this_fit;
    }
  }
  if (!best && index->count == 1 && !index->choices[0].architecture)
    best = &index->choices[0];
  if (!best)
    return none_fits(platform, index, err);
  *ret_choice = best;
  return 0;
}

bool
oci_platform_fits_config(const struct oci_platform *platform, const struct oci_config *config)
{
  return !config->architecture || !*config->architecture ||
         strcmp(config->architecture, platform->architecture) == 0;
}
