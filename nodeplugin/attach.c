/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/attach.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/device_size.h"
#include "nodeplugin/device_use.h"
#include "nodeplugin/io_watch.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/nbd_server.h"
#include "nodeplugin/read_only_view.h"
#include "nodeplugin/sys_call.h"

#define UNUSED_WAIT_MS 5000
#define CLIENT_WAIT_MS 30000
#define CLIENT_PAUSE_MS 100

/* ---- unmapping by force, as unmapOptions asks for it: kept as a file, because unstaging must not
 * depend on Ceph. Lost, it is done without force. ------------------------------------------------
 */

static char *
force_mark(const struct node *node, const struct volume_id *id)
{
  return xasprintf("%s/force.%s", node->env.run_dir, id->image_id);
}

static void
write_force_mark(const struct node *node, const struct volume_id *id)
{
  CLEANUP(freep) char *path = force_mark(node, id);
  int fd = SYS_CALL(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (fd >= 0)
    (void)close(fd);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* A limit of 0 is none. */
static bool
has_limits(const struct string_map *metadata)
{
  for (size_t i = 0; i < metadata->count; i++) {
    if (text_starts_with(metadata->entries[i].key, "conf_rbd_qos_") &&
        strcmp(metadata->entries[i].value, "0") != 0)
      return true;
  }
  return false;
}

static int
map_with(struct node *node, const struct volume *volume, const struct attach_wish *wish,
         const struct mapper *mapper, struct mapping *ret_mapping, struct error **err)
{
  struct option_list options = {0}, unmap_options = {0};
  if (mapper_parse_options(mapper, false, volume_setting(volume, "mapOptions"), &options, err) < 0)
    return -1;
  int r = mapper_parse_options(mapper, true, volume_setting(volume, "unmapOptions"), &unmap_options,
                               err);
  if (r == 0 && option_list_find(&unmap_options, "force"))
    write_force_mark(node, &volume->id);
  const struct map_request request = {.id = &volume->id,
                                      .location = volume->location,
                                      .image_name = volume->image_name,
                                      .size_bytes = volume->header.size_bytes,
                                      .is_read_only = wish->is_read_only,
                                      .options = &options};
  if (r == 0)
    r = mapper->map(&node->env, &request, ret_mapping, err);
  option_list_clear(&options);
  option_list_clear(&unmap_options);
  return r < 0 ? error_wrap(err, "%s", mapper->name) : 0;
}

static int
choose_and_map(struct node *node, const struct volume *volume, const struct attach_wish *wish,
               struct mapping *ret_mapping, struct error **err)
{
  const char *asked = volume_setting(volume, "mapper");
  const struct mapper_wish mapper_wish = {
      .name = *asked && strcmp(asked, MAPPER_AUTO) != 0 ? asked : node->mapper,
      .features = volume->header.features,
      .has_limits = has_limits(&volume->header.metadata)};
  const struct mapper *mapper;
  CLEANUP(freep) char *why = NULL;
  if (mapper_choose(&node->env, &mapper_wish, &mapper, &why, err) < 0)
    return -1;
  log_info("image '%s/%s' is mapped by %s: %s", volume->location->label, volume->image_name,
           mapper->name, why);
  /* What a call that died has left of a device that never was: it may hold the image itself. */
  alone_note_remove(&node->env, &volume->id);
  if (mapper_unmap(&node->env, &volume->id, false, err) < 0 ||
      (wish->is_read_only && other_nodes_call_flattening_off(volume, err) < 0) ||
      other_nodes_check(volume, wish->others, err) < 0)
    return -1;
  return map_with(node, volume, wish, mapper, ret_mapping, err);
}

/* A cluster that has let go of this node, because it was cut off or taken for dead, turns its
 * client away from then on, and whoever uses the device gets errors for ever. The kernel tells its
 * client's address; of a helper there is the note. */
static int
look_whether_fenced(const struct node *node, const struct volume *volume,
                    const struct mapping *mapping, bool *ret_is_fenced, struct error **err)
{
  struct alone_note note;
  struct string_map blocklist = {0};
  *ret_is_fenced = false;
  if (!mapping->is_alive)
    return 0;
  if (!mapping->mapper->client)
    return alone_note_read(&node->env, &volume->id, &note)
               ? other_nodes_look_for_us(volume, &note, ret_is_fenced, err)
               : 0;
  CLEANUP(freep) char *address = mapping->mapper->client(&volume->id);
  if (!address)
    return 0;
  if (cluster_read_blocklist(volume->location->cluster, &blocklist, err) < 0)
    return -1;
  *ret_is_fenced = string_map_get(&blocklist, address) != NULL;
  string_map_clear(&blocklist);
  return 0;
}

/* Whether a device that lost its process may get another one, and with it what the kernel has held
 * back: not when another node has had the image since. */
static int
check_untouched(struct node *node, const struct volume *volume, const struct mapping *mapping,
                struct alone_note *note, struct error **err)
{
  if (note->is_taken)
    return error_set(err, ERROR_FAILED_PRECONDITION, "another node has had it");
  if (other_nodes_check_untouched(volume, note, mapping->number, &note->is_taken, err) == 0)
    return 0;
  if (note->is_taken) /* nobody has to ask again */
    (void)alone_note_write(&node->env, &volume->id, note, NULL);
  return -1;
}

/* Until the new process has the image open, which is when it can be told from others. Its device,
 * which was there before, does not tell. */
static int
wait_for_client(struct node *node, const struct volume *volume, const struct alone_note *note,
                uint64_t *ret_client, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + CLIENT_WAIT_MS;
  for (;;) {
    if (other_nodes_check_nobody_came(volume, note, 1, ret_client, err) < 0)
      return -1;
    if (*ret_client != 0)
      return 0;
    if (!nbd_server_runs(&node->env, &volume->id) || clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_UNAVAILABLE, NBD_SERVER_PROGRAM " has not opened the image");
    (void)nanosleep(&(struct timespec){.tv_nsec = CLIENT_PAUSE_MS * 1000000L}, NULL);
  }
}

static int
serve_again(struct node *node, const struct volume *volume, struct mapping *mapping,
            struct error **err)
{
  const struct attach_wish wish = {.is_read_only = mapping->is_read_only};
  struct alone_note note;
  uint64_t client;
  bool is_alone = alone_note_read(&node->env, &volume->id, &note);
  if (is_alone && check_untouched(node, volume, mapping, &note, err) < 0)
    return -1;
  mapping_clear(mapping);
  if (map_with(node, volume, &wish, &nbd_mapper, mapping, err) < 0)
    return -1;
  if (!is_alone)
    return 0;
  if (wait_for_client(node, volume, &note, &client, err) < 0) {
    nbd_server_kill(&volume->id);
    return -1;
  }
  alone_note_add(&note, client);
  return alone_note_write(&node->env, &volume->id, &note, err);
}

/* One that is there already: can it be used as it is asked for? *ret_can_stay is false when it was
 * taken away, to be made anew. */
static int
take_over(struct node *node, const struct volume *volume, const struct attach_wish *wish,
          struct mapping *mapping, bool *ret_can_stay, struct error **err)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  *ret_can_stay = true;
  bool is_fenced, is_same_mode = mapping->is_read_only == wish->is_read_only;
  if (look_whether_fenced(node, volume, mapping, &is_fenced, err) < 0)
    return -1;
  if (mapping->is_alive && !is_fenced && is_same_mode)
    return 0;
  if (!mapping->is_alive && is_same_mode && mapping->mapper == &nbd_mapper) {
    if (serve_again(node, volume, mapping, &failure) == 0)
      return 0;
    if (!attach_is_taken(node, &volume->id))
      return error_set(err, failure->code, "%s", failure->message);
  }
  *ret_can_stay = false;
  if (detach_volume(node, &volume->id, err) == 0)
    return 0;
  if (is_fenced)
    return error_wrap(err,
                      "the cluster turns away what serves its device '%s': its pods have to go",
                      mapping->device);
  if (!mapping->is_alive)
    return error_wrap(err, "what served its device '%s' has died", mapping->device);
  if (err && (*err)->code == ERROR_FAILED_PRECONDITION)
    (*err)->code = ERROR_ALREADY_EXISTS; /* it is staged, and not as it is asked for now */
  return error_wrap(err, "its device '%s' is there %s", mapping->device,
                    mapping->is_read_only ? "read-only" : "writable");
}

/* That nobody has come meanwhile, and by whom the device is served. A device that was found may
 * have been left by a call that was killed before it asked. Readers do not show. */
static int
settle(struct node *node, const struct volume *volume, const struct attach_wish *wish,
       const struct mapping *mapping, bool is_new, struct error **err)
{
  struct alone_note note = {0};
  uint64_t client;
  if (wish->others != ATTACH_ALONE) /* it may have been, for an earlier call */
    alone_note_remove(&node->env, &volume->id);
  if (wish->others != ATTACH_ALONE || mapping->is_read_only ||
      (!is_new && device_use_check_none(mapping, NULL, NULL) < 0))
    return 0;
  if (!alone_note_read(&node->env, &volume->id, &note))
    note.written = io_watch_written(mapping->number);
  bool is_noted = note.client_count > 0;
  if (other_nodes_check_nobody_came(volume, &note, is_noted ? 0 : 1, &client, err) < 0)
    return -1;
  if (is_noted || mapping->mapper->client) /* the kernel itself tells the client */
    return 0;
  alone_note_add(&note, client);
  return alone_note_write(&node->env, &volume->id, &note, err);
}

static int
follow_size(struct node *node, const struct volume *volume, const struct mapping *mapping,
            struct error **err)
{
  return mapping->is_read_only /* what is there for readers stays as it is */
             ? 0
             : device_size_follow(&node->env, &volume->id, mapping, volume->header.size_bytes, err);
}

int
attach_volume(struct node *node, const struct volume *volume, const struct attach_wish *wish,
              struct mapping *ret_mapping, bool *ret_is_new, struct error **err)
{
  struct mapping mapping = {0};
  bool can_stay = mapper_find(&node->env, &volume->id, &mapping);
  int r = can_stay ? take_over(node, volume, wish, &mapping, &can_stay, err) : 0;
  if (r == 0 && !can_stay) {
    mapping_clear(&mapping);
    r = choose_and_map(node, volume, wish, &mapping, err);
  }
  if (r < 0 || settle(node, volume, wish, &mapping, !can_stay, err) < 0 ||
      follow_size(node, volume, &mapping, err) < 0) {
    mapping_clear(&mapping);
    return -1;
  }
  *ret_is_new = !can_stay;
  *ret_mapping = mapping;
  return 0;
}

int
attach_serve_again(struct node *node, const struct volume *volume, struct error **err)
{
  struct mapping mapping = {0};
  int r = 0;
  if (mapper_find(&node->env, &volume->id, &mapping) && mapping.mapper == &nbd_mapper &&
      !mapping.is_alive) {
    r = serve_again(node, volume, &mapping, err);
    if (r == 0)
      r = follow_size(node, volume, &mapping, err);
  }
  mapping_clear(&mapping);
  return r;
}

bool
attach_is_taken(const struct node *node, const struct volume_id *id)
{
  struct alone_note note;
  return alone_note_read(&node->env, id, &note) && note.is_taken;
}

/* ---- detaching ------------------------------------------------------------------------------- */

int
attach_check_unused(struct node *node, const struct volume_id *id, const char *except,
                    struct error **err)
{
  struct mapping mapping = {0};
  int r = mapper_find(&node->env, id, &mapping) ? device_use_check_none(&mapping, except, err) : 0;
  mapping_clear(&mapping);
  return r;
}

int
detach_volume(struct node *node, const struct volume_id *id, struct error **err)
{
  struct mapping mapping = {0};
  if (mapper_find(&node->env, id, &mapping)) {
    int r = device_use_check_none(&mapping, NULL, err);
    if (r == 0)
      r = read_only_view_remove(mapping.device, err);
    if (r == 0)
      r = block_device_wait_unused(mapping.device, UNUSED_WAIT_MS, err);
    mapping_clear(&mapping);
    if (r < 0)
      return -1;
  }
  CLEANUP(freep) char *mark = force_mark(node, id);
  bool is_forced = access(mark, F_OK) == 0;
  if (mapper_unmap(&node->env, id, is_forced, err) < 0)
    return -1;
  if (is_forced)
    (void)SYS_CALL(unlink(mark));
  alone_note_remove(&node->env, id);
  return 0;
}
