/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_search.h"

#include <string.h>

#include "lib/base/memory.h"
#include "populator/source/image_path.h"

#define USUAL_PLACE "disk"
#define WHITEOUT ".wh."
#define WHITEOUT_OPAQUE ".wh..wh..opq"
#define WHITEOUT_INTERNAL ".wh..wh." /* what aufs keeps for itself */
/* Links that lead to links: a loop, or a trick. */
#define FOLLOWED_MAX 8
/* Names in a message about several disks. */
#define NAMED_MAX 8
/* What upper layers removed at or below the place. */
#define HIDDEN_MAX 65536

/* What of a path is hidden from lower layers. */
enum hiding {
  HIDING_ALL,     /* whatever it is, and all below it */
  HIDING_CONTENT, /* all below it; the folder itself stays */
  HIDING_FILE,    /* what is no folder: now it is one */
};

struct hidden {
  char *path;
  enum hiding hiding;
};

/* Entries of one kind that would do; the first few by name. */
struct candidates {
  size_t count;
  char *paths[NAMED_MAX];
  char *first_link; /* where the first leads, if it is a link */
};

struct disk_search {
  char *place;  /* what is looked for: this path or one below it */
  char *wanted; /* as the user named it, for messages */
  unsigned followed;
  struct hidden *hidden;
  size_t hidden_count;
  size_t hidden_active;        /* those of layers above the one that is being read come first */
  struct candidates files;     /* of this layer */
  struct candidates hardlinks; /* of this layer */
  struct candidates symlinks;  /* below the place, of all layers so far: if nothing else is found */
  char *moved_to;              /* the place itself, or a folder above it, is a symbolic link */
};

/* ---- life --------------------------------------------------------------------------------------
 */

struct disk_search *
disk_search_new(const char *path)
{
  struct disk_search *search = xcalloc(1, sizeof(*search));
  search->place = image_path_clean(path ? path : USUAL_PLACE);
  search->wanted = xstrdup(search->place);
  return search;
}

static void
candidates_clear(struct candidates *candidates)
{
  for (size_t i = 0; i < NAMED_MAX; i++)
    free(candidates->paths[i]);
  free(candidates->first_link);
  *candidates = (struct candidates){0};
}

static void
hidden_clear(struct disk_search *search)
{
  for (size_t i = 0; i < search->hidden_count; i++)
    free(search->hidden[i].path);
  free(search->hidden);
  search->hidden = NULL;
  search->hidden_count = search->hidden_active = 0;
}

/* What was seen of one layer. */
static void
layer_clear(struct disk_search *search)
{
  candidates_clear(&search->files);
  candidates_clear(&search->hardlinks);
  free(search->moved_to);
  search->moved_to = NULL;
}

void
disk_search_free(struct disk_search *search)
{
  if (!search)
    return;
  layer_clear(search);
  candidates_clear(&search->symlinks);
  hidden_clear(search);
  free(search->place);
  free(search->wanted);
  free(search);
}

static void
candidates_add(struct candidates *candidates, const char *path, const char *link)
{
  if (candidates->count == 0)
    candidates->first_link = xstrdup(link);
  if (candidates->count < NAMED_MAX)
    candidates->paths[candidates->count] = xstrdup(path);
  candidates->count++;
}

const char *
disk_search_place(const struct disk_search *search)
{
  return search->place;
}

const char *
disk_search_path(const struct disk_search *search)
{
  return search->files.paths[0];
}

void
disk_search_read_again(struct disk_search *search)
{
  layer_clear(search);
  while (search->hidden_count > search->hidden_active)
    free(search->hidden[--search->hidden_count].path);
}

void
disk_search_found(struct disk_search *search, const char *path)
{
  CLEANUP(freep) char *copy = xstrdup(path); /* it may be our own */
  disk_search_read_again(search);
  candidates_add(&search->files, copy, NULL);
}

/* ---- what upper layers hide --------------------------------------------------------------------
 */

static bool
hides(const struct hidden *hidden, const char *path)
{
  if (hidden->hiding == HIDING_FILE)
    return false; /* only the entry's type tells */
  return image_path_is_within(path, hidden->path) &&
         !(hidden->hiding == HIDING_CONTENT && strcmp(path, hidden->path) == 0);
}

static bool
is_hidden(const struct disk_search *search, const char *path)
{
  for (size_t i = 0; i < search->hidden_active; i++) {
    if (hides(&search->hidden[i], path))
      return true;
  }
  return false;
}

static bool
is_folder_among(const struct disk_search *search, size_t count, const char *path)
{
  for (size_t i = 0; i < count; i++) {
    if (search->hidden[i].hiding == HIDING_FILE && strcmp(search->hidden[i].path, path) == 0)
      return true;
  }
  return false;
}

/* Whether nothing at the place or below it can be seen of lower layers. */
static bool
is_place_hidden(const struct disk_search *search)
{
  for (size_t i = 0; i < search->hidden_active; i++) {
    if (search->hidden[i].hiding != HIDING_FILE &&
        image_path_is_within(search->place, search->hidden[i].path))
      return true;
  }
  return false;
}

static void
hidden_add(struct disk_search *search, const char *path, enum hiding hiding)
{
  size_t count = search->hidden_count;
  if ((count & (count - 1)) == 0) /* powers of two */
    search->hidden = xrealloc(search->hidden, count > 0 ? count * 2 : 1, sizeof(search->hidden[0]));
  search->hidden[search->hidden_count++] = (struct hidden){.path = xstrdup(path), .hiding = hiding};
}

static int
hide(struct disk_search *search, const char *path, enum hiding hiding, struct error **err)
{
  if (!image_path_is_within(path, search->place) && !image_path_is_within(search->place, path))
    return 0;
  if (search->hidden_count >= HIDDEN_MAX)
    return error_set(err, ERROR_RESOURCE_EXHAUSTED,
                     "the image removes or replaces more than %d files below '/%s'", HIDDEN_MAX,
                     search->place);
  hidden_add(search, path, hiding);
  return 0;
}

/* A folder takes the place of a file or a link of lower layers, and leaves their folders alone. */
static int
hide_file(struct disk_search *search, const char *path, struct error **err)
{
  if (is_folder_among(search, search->hidden_count, path))
    return 0;
  return hide(search, path, HIDING_FILE, err);
}

/* An archive need not have an entry for every folder. Above the place that says nothing: it may
 * have gone through a link of a lower layer. */
static int
hide_files_above(struct disk_search *search, const char *path, struct error **err)
{
  CLEANUP(freep) char *folder = xstrdup(path);
  char *slash;
  while ((slash = strrchr(folder, '/'))) {
    *slash = '\0';
    if (!image_path_is_within(folder, search->place))
      return 0;
    if (hide_file(search, folder, err) < 0)
      return -1;
  }
  return 0;
}

/* 1 when the entry is a mark and not a file, 0 when not. */
static int
note_whiteout(struct disk_search *search, const struct tar_entry *entry, struct error **err)
{
  const char *name = image_path_name(entry->path);
  if (strncmp(name, WHITEOUT, strlen(WHITEOUT)) != 0)
    return 0;
  CLEANUP(freep) char *folder = image_path_follow(entry->path, ".");
  if (strcmp(name, WHITEOUT_OPAQUE) == 0)
    return hide(search, folder, HIDING_CONTENT, err) < 0 ? -1 : 1;
  const char *removed = name + strlen(WHITEOUT);
  if (strncmp(name, WHITEOUT_INTERNAL, strlen(WHITEOUT_INTERNAL)) == 0 || !*removed ||
      strcmp(removed, ".") == 0 || strcmp(removed, "..") == 0)
    return 1;
  CLEANUP(freep) char *path = image_path_follow(entry->path, removed);
  return hide(search, path, HIDING_ALL, err) < 0 ? -1 : 1;
}

/* ---- the entries of a layer --------------------------------------------------------------------
 */

/* A symbolic link at the place, or at a folder above it, leads elsewhere for all that follows. */
static void
note_symlink(struct disk_search *search, const struct tar_entry *entry)
{
  if (!image_path_is_within(search->place, entry->path)) {
    candidates_add(&search->symlinks, entry->path, entry->link);
    return;
  }
  CLEANUP(freep) char *target = image_path_follow(entry->path, entry->link);
  const char *rest = search->place + strlen(entry->path);
  CLEANUP(freep) char *moved_to = xasprintf("%s/%s", target, rest);
  free(search->moved_to);
  search->moved_to = image_path_clean(moved_to);
}

int
disk_search_entry(struct disk_search *search, const struct tar_entry *entry, bool *ret_is_disk,
                  struct error **err)
{
  *ret_is_disk = false;
  bool is_at_place = image_path_is_within(entry->path, search->place);
  if (!is_at_place && !image_path_is_within(search->place, entry->path) &&
      !strstr(entry->path, WHITEOUT))
    return 0; /* most are */
  if (is_hidden(search, entry->path))
    return 0;
  int r = note_whiteout(search, entry, err);
  if (r != 0)
    return r < 0 ? -1 : 0;
  if (hide_files_above(search, entry->path, err) < 0)
    return -1;
  if (entry->type == TAR_DIRECTORY)
    return hide_file(search, entry->path, err);
  if (is_folder_among(search, search->hidden_active, entry->path))
    return hide(search, entry->path, HIDING_ALL, err);
  if (entry->type == TAR_SYMLINK) {
    note_symlink(search, entry);
  } else if (is_at_place && entry->type == TAR_HARDLINK) {
    candidates_add(&search->hardlinks, entry->path, entry->link);
  } else if (is_at_place && (entry->type == TAR_FILE || entry->type == TAR_SPARSE)) {
    *ret_is_disk = search->files.count == 0;
    candidates_add(&search->files, entry->path, NULL);
  }
  return hide(search, entry->path, HIDING_ALL,
              err); /* whatever it is, it is not of a lower layer */
}

/* ---- the end of a layer ------------------------------------------------------------------------
 */

static int
several(const struct disk_search *search, const struct candidates *a, const struct candidates *b,
        struct error **err)
{
  if (a->count == 2 && b->count == 0 && strcmp(a->paths[0], a->paths[1]) == 0)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the image has '/%s' twice in one layer or archive, and which is meant is not "
                     "known: make it anew, with one",
                     a->paths[0]);
  CLEANUP(buffer_clear) struct buffer names = {0};
  const struct candidates *both[] = {a, b};
  size_t count = 0;
  for (size_t i = 0; i < 2; i++) {
    for (size_t j = 0; j < NAMED_MAX && both[i]->paths[j]; j++, count++) {
      (void)buffer_append_text(&names, count > 0 ? ", '/" : "'/");
      (void)buffer_append_text(&names, both[i]->paths[j]);
      (void)buffer_append_text(&names, "'");
    }
  }
  const char *more = count < a->count + b->count ? " and more" : "";
  return error_set(err, ERROR_INVALID_ARGUMENT,
                   "the image has several files at '/%s' where one disk is expected: %s%s; say "
                   "which one by its path",
                   search->place, names.data, more);
}

int
disk_search_check(const struct disk_search *search, struct error **err)
{
  if (search->files.count + search->hardlinks.count > 1)
    return several(search, &search->files, &search->hardlinks, err);
  if (search->moved_to)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "a layer of the image has '/%s' both as a file and as a symbolic link",
                     search->place);
  return 0;
}

static int
not_found(const struct disk_search *search, struct error **err)
{
  if (strcmp(search->place, search->wanted) != 0)
    return error_set(err, ERROR_NOT_FOUND,
                     "the image has no file at '/%s', to which its '/%s' leads", search->place,
                     search->wanted);
  return error_set(err, ERROR_NOT_FOUND, "the image has no file at '/%s' or below it",
                   search->place);
}

/* Goes on under another name. */
static int
follow(struct disk_search *search, const char *place, struct error **err)
{
  if (++search->followed > FOLLOWED_MAX)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "the links of the image lead from '/%s' on and on, now to '/%s'",
                     search->wanted, place);
  char *copy = xstrdup(place);
  free(search->place);
  search->place = copy;
  layer_clear(search);
  candidates_clear(&search->symlinks);
  return 0;
}

static int
follow_hardlink(struct disk_search *search, enum disk_search_step *ret_step, struct error **err)
{
  if (search->hardlinks.count > 1)
    return several(search, &search->hardlinks, &search->files, err);
  hidden_clear(search); /* the content stays, even if an upper layer removed its other name */
  CLEANUP(freep) char *target = xstrdup(search->hardlinks.first_link);
  if (follow(search, target, err) < 0)
    return -1;
  *ret_step = DISK_SEARCH_SAME_LAYER;
  return 0;
}

static int
follow_symlink(struct disk_search *search, const char *target, enum disk_search_step *ret_step,
               struct error **err)
{
  hidden_clear(search);
  CLEANUP(freep) char *place = xstrdup(target);
  if (follow(search, place, err) < 0)
    return -1;
  *ret_step = DISK_SEARCH_TOP_LAYER;
  return 0;
}

int
disk_search_layer_end(struct disk_search *search, bool is_last, enum disk_search_step *ret_step,
                      struct error **err)
{
  if (search->hardlinks.count > 0)
    return follow_hardlink(search, ret_step, err);
  if (search->moved_to)
    return follow_symlink(search, search->moved_to, ret_step, err);
  layer_clear(search);
  search->hidden_active = search->hidden_count;
  if (!is_last && !is_place_hidden(search)) {
    *ret_step = DISK_SEARCH_NEXT_LAYER;
    return 0;
  }
  if (search->symlinks.count > 1)
    return several(search, &search->symlinks, &search->files, err);
  if (search->symlinks.count == 0)
    return not_found(search, err);
  CLEANUP(freep)
  char *target = image_path_follow(search->symlinks.paths[0], search->symlinks.first_link);
  return follow_symlink(search, target, ret_step, err);
}

/* ---- beside the disk ---------------------------------------------------------------------------
 */

bool
disk_search_is_exact(const struct disk_search *search)
{
  return search->files.count > 0 && strcmp(search->files.paths[0], search->place) == 0;
}

struct disk_search *
disk_search_below(const struct disk_search *search, bool has_layer)
{
  struct disk_search *below = disk_search_new(search->place);
  size_t count = has_layer ? search->hidden_count : search->hidden_active;
  for (size_t i = 0; i < count; i++)
    hidden_add(below, search->hidden[i].path, search->hidden[i].hiding);
  below->hidden_active = count;
  return below;
}

bool
disk_search_has_other(const struct disk_search *below)
{
  return below->files.count + below->hardlinks.count > 0;
}

bool
disk_search_go_below(struct disk_search *below)
{
  layer_clear(below);
  below->hidden_active = below->hidden_count;
  return !is_place_hidden(below);
}

int
disk_search_refuse(const struct disk_search *search, const struct disk_search *below,
                   struct error **err)
{
  return several(search, &search->files, below->files.count > 0 ? &below->files : &below->hardlinks,
                 err);
}
