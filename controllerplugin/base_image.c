/* SPDX-License-Identifier: Apache-2.0 */
/* Each base has a thread as long as it is worked on. It may be killed between any two steps: the
 * volume is found by its name, and that it has a snapshot says that it is complete. */
#include "controllerplugin/base_image.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>

#include "controllerplugin/base_use.h"
#include "controllerplugin/base_volume.h"
#include "lib/base/clock.h"
#include "lib/base/digest.h"
#include "lib/base/lock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "populator/work/worker_process.h"

#define LISTEN_MS 500
/* How long an answer counts: then the source is looked at again. */
#define READY_MS 60000
#define FAILED_MS 10000
#define STACK_BYTES ((size_t)512 << 10)
#define BASES_AT_ONCE_MAX 8

enum base_state { BASE_WORKING, BASE_READY, BASE_FAILED };

struct base {
  LIST_ENTRY(base) link;
  struct base_images *all;
  char *key;
  struct json_object *job; /* the source, and how to reach it; holds secrets */
  struct string_map parameters;
  pthread_t thread;
  /* of the mutex: */
  enum base_state state;
  const char *doing;
  double percent; /* negative: not known */
  char *snapshot;
  enum error_code code;
  char *message;
  int64_t until_ms; /* of a result */
};

struct base_images {
  struct base_images_options options;
  pthread_mutex_t mutex;
  pthread_cond_t finished;
  LIST_HEAD(, base) list;
  size_t working;
  atomic_bool is_stopping;
};

/* ---- the worker -------------------------------------------------------------------------------
 */

static void
set_progress(struct base *base, const char *doing, double percent)
{
  MUTEX_GUARD(&base->all->mutex);
  base->doing = doing;
  base->percent = percent;
}

/* Runs the command to its end; *ret_result, to be put, is what it said last. */
static int
run_worker(struct base *base, const char *verb, struct json_object *job,
           struct json_object **ret_result, struct error **err)
{
  CLEANUP(worker_process_freep) struct worker_process *worker = NULL;
  CLEANUP(json_object_putp) struct json_object *last = NULL;
  if (worker_process_start(base->all->options.worker, verb, job, -1, &worker, err) < 0)
    return -1;
  for (bool is_over = false; !is_over;) {
    struct json_object *object = NULL;
    if (atomic_load(&base->all->is_stopping))
      return error_set(err, ERROR_UNAVAILABLE, "the controller is stopping");
    if (worker_process_next(worker, LISTEN_MS, &object, &is_over, err) < 0)
      return -1;
    if (!object)
      continue;
    struct json_object *percent = json_at(object, "percent");
    if (percent && json_number(object, "total") > 0)
      set_progress(base, "imported", json_object_get_double(percent));
    json_object_put(last);
    last = object;
  }
  if (worker_process_result(worker, err) < 0)
    return -1;
  *ret_result = TAKE(last);
  return 0;
}

/* What is there now: a name for it, and how large it is. */
static int
inspect(struct base *base, char **ret_name, uint64_t *ret_bytes, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *facts = NULL;
  if (run_worker(base, "inspect", base->job, &facts, err) < 0)
    return -1;
  const char *refusal = json_text(facts, "refusal");
  const char *digest = json_text(facts, "digest");
  const char *identity = json_text(facts, "identity");
  int64_t bytes = json_number(facts, "virtualSize");
  if (refusal)
    return error_set(err, ERROR_INVALID_ARGUMENT, "%s", refusal);
  if (bytes <= 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "how large the image is shows only at its end: make a VirtualMachineImage of "
                     "it, with a size");
  const char *source = json_object_get_string(json_item(json_at(base->job, "arguments"), 0));
  CLEANUP(freep)
  char *what = xasprintf("%s\n%s", source, digest ? digest : identity ? identity : "");
  char hex[DIGEST_SHA256_HEX];
  digest_sha256_hex(what, strlen(what), hex);
  *ret_name = xasprintf(BASE_IMAGE_PREFIX "%.*s", BASE_IMAGE_DIGITS, hex);
  *ret_bytes = (uint64_t)bytes;
  return 0;
}

static bool
is_image_at_fault(enum error_code code)
{
  return code == ERROR_INVALID_ARGUMENT || code == ERROR_DATA_LOSS || code == ERROR_OUT_OF_RANGE ||
         code == ERROR_UNIMPLEMENTED;
}

static int
import(struct base *base, const char *handle, struct error **err)
{
  CLEANUP(json_object_putp) struct json_object *job = json_copy(base->job);
  CLEANUP(json_object_putp) struct json_object *result = NULL;
  CLEANUP(freep) char *target = xasprintf("volume:%s", handle);
  CLEANUP(error_freep) struct error *failure = NULL;
  json_object_array_add(json_at(job, "arguments"), json_object_new_string(target));
  json_put_at(job, json_object_new_boolean(true), "existing");
  set_progress(base, "imported", -1);
  if (run_worker(base, "import", job, &result, &failure) == 0)
    return 0;
  if (is_image_at_fault(failure->code))
    base_volume_remove(base->all->options.controller, handle);
  return error_set(err, failure->code, "%s", failure->message);
}

/* ---- one base ---------------------------------------------------------------------------------
 */

static int
provide(struct base *base, char **ret_snapshot, struct error **err)
{
  struct controller *controller = base->all->options.controller;
  CLEANUP(freep) char *name = NULL;
  CLEANUP(freep) char *handle = NULL;
  uint64_t bytes;
  if (inspect(base, &name, &bytes, err) < 0 ||
      base_volume_find(controller, &base->parameters, name, bytes, &handle, err) < 0 ||
      base_use_touch(controller, handle, err) < 0 ||
      base_volume_snapshot(controller, handle, ret_snapshot, err) < 0)
    return -1;
  if (*ret_snapshot)
    return 0;
  log_info("base image %s: importing", name);
  if (import(base, handle, err) < 0 || base_use_touch(controller, handle, err) < 0)
    return -1;
  return base_volume_take_snapshot(controller, name, handle, ret_snapshot, err);
}

static void
settle(struct base *base, char *snapshot, const struct error *failure)
{
  MUTEX_GUARD(&base->all->mutex);
  base->state = failure ? BASE_FAILED : BASE_READY;
  base->until_ms = clock_now_ms() + (failure ? FAILED_MS : READY_MS);
  base->snapshot = snapshot;
  if (failure) {
    base->code = failure->code;
    base->message = xstrdup(failure->message);
  }
  base->all->working--;
  (void)pthread_cond_broadcast(&base->all->finished);
}

static void *
run(void *arg)
{
  struct base *base = arg;
  char *snapshot = NULL;
  CLEANUP(error_freep) struct error *failure = NULL;
  (void)pthread_setname_np(pthread_self(), "base-image");
  (void)provide(base, &snapshot, &failure);
  settle(base, snapshot, failure);
  return NULL;
}

static void
base_free(struct base *base)
{
  (void)pthread_join(base->thread, NULL);
  json_object_put(base->job);
  string_map_clear(&base->parameters);
  free(base->key);
  free(base->snapshot);
  free(base->message);
  free(base);
}

/* ---- what is asked for ------------------------------------------------------------------------
 */

/* Keys of a Secret, as images take them too, and the flag of the job that each becomes. */
static const struct {
  const char *key;
  const char *flag;
} secret_flags[] = {
    {"username", "user"},
    {"password", "password"},
    {"token", "bearer-token"},
    {"AWS_ACCESS_KEY_ID", "s3-access-key"},
    {"AWS_SECRET_ACCESS_KEY", "s3-secret-key"},
};

static struct json_object *
job_of(const struct base_images *images, const struct volume_parameters *parameters,
       const struct string_map *secrets)
{
  struct json_object *job = json_object_new_object();
  struct json_object *arguments = json_object_new_array();
  json_object_array_add(arguments, json_object_new_string(parameters->image_source));
  json_put_at(job, arguments, "arguments");
  json_put_at(job, json_object_new_boolean(true), "json");
  json_put_text(job, images->options.clusters_file, "clusters");
  if (images->options.allow_local_addresses)
    json_put_at(job, json_object_new_boolean(true), "allow-local-addresses");
  if (images->options.allow_network)
    json_put_text(job, images->options.allow_network, "allow-network");
  if (parameters->image_endpoint) {
    json_put_text(job, parameters->image_endpoint, "s3-endpoint");
    json_put_at(job, json_object_new_boolean(true), "s3-path-style");
  }
  for (size_t i = 0; i < sizeof(secret_flags) / sizeof(secret_flags[0]); i++) {
    const char *value = string_map_get(secrets, secret_flags[i].key);
    if (value)
      json_put_text(job, value, secret_flags[i].flag);
  }
  return job;
}

/* The base lies where the volumes do, and is made like them. */
static void
copy_parameters(const struct volume_parameters *parameters, struct string_map *ret_map)
{
  for (size_t i = 0; i < parameters->settings.count; i++) {
    const struct string_map_entry *entry = &parameters->settings.entries[i];
    if (strcmp(entry->key, "imageSource") != 0 && strcmp(entry->key, "imageEndpoint") != 0)
      string_map_set(ret_map, entry->key, entry->value);
  }
}

/* Who comes with other credentials has to show that they lead to the image: what others got by
 * theirs is not for him. They are in the key as a digest, so that it can be kept. */
static char *
key_of(const struct volume_parameters *p, const struct string_map *secrets)
{
  CLEANUP(json_object_putp) struct json_object *shown = json_object_new_object();
  for (size_t i = 0; i < sizeof(secret_flags) / sizeof(secret_flags[0]); i++) {
    const char *value = string_map_get(secrets, secret_flags[i].key);
    if (value)
      json_put_text(shown, value, secret_flags[i].flag);
  }
  const char *text = json_object_to_json_string(shown);
  char hex[DIGEST_SHA256_HEX];
  digest_sha256_hex(text, strlen(text), hex);
  return xasprintf("%s/%s/%s\n%s\n%s\n%s", p->cluster_id ? p->cluster_id : "", p->pool,
                   p->name_space, p->image_source, p->image_endpoint ? p->image_endpoint : "", hex);
}

/* With the mutex held. Results that are too old go on the way. */
static struct base *
find(struct base_images *images, const char *key)
{
  struct base *next;
  for (struct base *base = LIST_FIRST(&images->list); base; base = next) {
    next = LIST_NEXT(base, link);
    if (base->state != BASE_WORKING && clock_now_ms() >= base->until_ms) {
      LIST_REMOVE(base, link);
      base_free(base);
    } else if (strcmp(base->key, key) == 0) {
      return base;
    }
  }
  return NULL;
}

/* With the mutex held. */
static int
begin(struct base_images *images, const struct volume_parameters *parameters,
      const struct string_map *secrets, const char *key, struct base **ret_base, struct error **err)
{
  if (atomic_load(&images->is_stopping) || images->working >= BASES_AT_ONCE_MAX)
    return error_set(err, ERROR_UNAVAILABLE, "other images are being imported: call again");
  struct base *base = xcalloc(1, sizeof(*base));
  base->all = images;
  base->key = xstrdup(key);
  base->job = job_of(images, parameters, secrets);
  base->doing = "looked at";
  base->percent = -1;
  copy_parameters(parameters, &base->parameters);
  pthread_attr_t attr;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
  if (pthread_create(&base->thread, &attr, run, base) != 0)
    abort(); /* no program runs without its threads */
  (void)pthread_attr_destroy(&attr);
  images->working++;
  LIST_INSERT_HEAD(&images->list, base, link);
  *ret_base = base;
  return 0;
}

int
base_images_get(struct base_images *images, const struct volume_parameters *parameters,
                const struct string_map *secrets, char **ret_snapshot, struct error **err)
{
  CLEANUP(freep) char *key = key_of(parameters, secrets);
  MUTEX_GUARD(&images->mutex);
  struct base *base = find(images, key);
  if (!base && begin(images, parameters, secrets, key, &base, err) < 0)
    return -1;
  if (base->state == BASE_READY) {
    *ret_snapshot = xstrdup(base->snapshot);
    return 0;
  }
  if (base->state == BASE_FAILED)
    return error_set(err, base->code, "parameter 'imageSource': %s", base->message);
  if (base->percent >= 0)
    return error_set(err, ERROR_UNAVAILABLE,
                     "parameter 'imageSource': the image is being %s, %.1f%% done: call again",
                     base->doing, base->percent);
  return error_set(err, ERROR_UNAVAILABLE,
                   "parameter 'imageSource': the image is being %s: call again", base->doing);
}

void
base_images_forget(struct base_images *images, const char *snapshot)
{
  MUTEX_GUARD(&images->mutex);
  struct base *base;
  LIST_FOREACH(base, &images->list, link)
  {
    if (base->state == BASE_READY && strcmp(base->snapshot, snapshot) == 0)
      base->until_ms = 0;
  }
}

/* ---- start and stop ---------------------------------------------------------------------------
 */

struct base_images *
base_images_new(const struct base_images_options *options)
{
  struct base_images *images = xcalloc(1, sizeof(*images));
  images->options = *options;
  (void)pthread_mutex_init(&images->mutex, NULL);
  condition_init(&images->finished);
  LIST_INIT(&images->list);
  return images;
}

bool
base_images_stop(struct base_images *images, int64_t deadline_ms)
{
  struct timespec until = clock_timespec_of_ms(deadline_ms);
  atomic_store(&images->is_stopping, true);
  MUTEX_GUARD(&images->mutex);
  while (images->working > 0 &&
         pthread_cond_timedwait(&images->finished, &images->mutex, &until) == 0)
    ;
  return images->working == 0;
}

void
base_images_free(struct base_images *images)
{
  if (!images)
    return;
  struct base *base;
  while ((base = LIST_FIRST(&images->list))) {
    LIST_REMOVE(base, link);
    base_free(base);
  }
  (void)pthread_mutex_destroy(&images->mutex);
  (void)pthread_cond_destroy(&images->finished);
  free(images);
}
