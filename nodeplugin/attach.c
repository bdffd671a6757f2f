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
#include "lib/ceph/image_clients.h"
#include "nodeplugin/block_device.h"
#include "nodeplugin/device_use.h"
#include "nodeplugin/mapper_table.h"
#include "nodeplugin/read_only_view.h"
#include "nodeplugin/sys_call.h"

/* The controller opens an image for a moment to grow, clone or snapshot it; a node that unstages
 * lets go at once. Whoever has it longer is refused to. */
#define OTHERS_WAIT_MS 3000
#define OTHERS_PAUSE_MS 200
#define SIZE_WAIT_MS 30000
#define UNUSED_WAIT_MS 5000

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

/* The address of a client that must not have the image, to be freed; NULL when there is none. */
static int
find_other(const struct volume *volume, enum attach_others others, char **ret_address,
           struct error **err)
{
  bool any = false;
  struct image_clients clients = {0};
  *ret_address = NULL;
  if (others == ATTACH_WITH_READERS)
    return image_clients_writer(volume->location, volume->id.image_id, ret_address, err);
  if (image_clients_any(volume->location, volume->id.image_id, &any, err) < 0 ||
      (any && image_clients_list(volume->location, volume->id.image_id, &clients, err) < 0))
    return -1;
  if (clients.count > 0)
    *ret_address = xstrdup(clients.items[0].address);
  image_clients_clear(&clients);
  return 0;
}

static int
check_others(const struct volume *volume, enum attach_others others, struct error **err)
{
  int64_t deadline_ms = clock_now_ms() + OTHERS_WAIT_MS;
  while (others != ATTACH_SHARED) {
    CLEANUP(freep) char *address = NULL;
    if (find_other(volume, others, &address, err) < 0)
      return -1;
    if (!address)
      return 0;
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION,
                       "the Ceph client at %s %s, and its access mode %s; a node that died is let "
                       "go of after 30 s",
                       address, others == ATTACH_ALONE ? "has it open" : "writes to it",
                       others == ATTACH_ALONE ? "allows one node only" : "allows readers only");
    (void)nanosleep(&(struct timespec){.tv_nsec = OTHERS_PAUSE_MS * 1000000L}, NULL);
  }
  return 0;
}

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
  if (mapper_unmap(&node->env, &volume->id, false, err) < 0 ||
      check_others(volume, wish->others, err) < 0)
    return -1;
  return map_with(node, volume, wish, mapper, ret_mapping, err);
}

/* A cluster that has let go of this node, because it was cut off or taken for dead, turns its
 * client away from then on, and whoever uses the device gets errors for ever. */
static int
look_whether_fenced(const struct volume *volume, struct mapping *mapping, struct error **err)
{
  CLEANUP(freep)
  char *address = mapping->mapper->client ? mapping->mapper->client(&volume->id) : NULL;
  struct string_map blocklist = {0};
  if (!address || !mapping->is_alive)
    return 0;
  if (cluster_read_blocklist(volume->location->cluster, &blocklist, err) < 0)
    return -1;
  mapping->is_alive = string_map_get(&blocklist, address) == NULL;
  string_map_clear(&blocklist);
  return 0;
}

/* One that is there already: can it be used as it is asked for? *ret_can_stay is false when it was
 * taken away, to be made anew. */
static int
take_over(struct node *node, const struct volume *volume, const struct attach_wish *wish,
          struct mapping *mapping, bool *ret_can_stay, struct error **err)
{
  *ret_can_stay = true;
  if (look_whether_fenced(volume, mapping, err) < 0)
    return -1;
  if (mapping->is_alive && mapping->is_read_only == wish->is_read_only)
    return 0;
  if (!mapping->is_alive && mapping->mapper == &nbd_mapper) {
    mapping_clear(mapping);
    return map_with(node, volume, wish, &nbd_mapper, mapping, err);
  }
  *ret_can_stay = false;
  if (detach_volume(node, &volume->id, err) == 0)
    return 0;
  if (!mapping->is_alive)
    return error_wrap(err, "what served its device '%s' has died, or the cluster turns it away",
                      mapping->device);
  return error_wrap(err, "its device '%s' is there %s", mapping->device,
                    mapping->is_read_only ? "read-only" : "writable");
}

int
attach_volume(struct node *node, const struct volume *volume, const struct attach_wish *wish,
              struct mapping *ret_mapping, bool *ret_is_new, struct error **err)
{
  struct mapping mapping = {0};
  bool can_stay = mapper_find(&node->env, &volume->id, &mapping);
  if (can_stay && take_over(node, volume, wish, &mapping, &can_stay, err) < 0) {
    mapping_clear(&mapping);
    return -1;
  }
  if (!can_stay) {
    mapping_clear(&mapping);
    if (choose_and_map(node, volume, wish, &mapping, err) < 0)
      return -1;
  }
  if (block_device_wait_size(mapping.device, volume->header.size_bytes, SIZE_WAIT_MS, NULL, NULL,
                             err) < 0) {
    mapping_clear(&mapping);
    return -1;
  }
  *ret_is_new = !can_stay;
  *ret_mapping = mapping;
  return 0;
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
  return 0;
}
