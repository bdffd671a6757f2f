/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/image_snap.h"
#include "lib/ceph/trash.h"

#include <rbd/librbd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/wire.h"
#include "tests/ceph/place.h"
#include "tests/ceph/threads.h"

/* Whether the trash has the id, under the name. */
static bool
is_in_trash(struct location *location, const char *name, const char *id)
{
  struct trash trash;
  REQUIRE(trash_list(location, name, &trash, NULL) == 0);
  bool found = false;
  for (size_t i = 0; i < trash.count; i++)
    found =
        found || (strcmp(trash.entries[i].id, id) == 0 && strcmp(trash.entries[i].name, name) == 0);
  trash_clear(&trash);
  return found;
}

static int
remove_entry(struct location *location, const char *name, const char *id, struct error **err)
{
  struct trash_entry entry = {.id = (char *)id, .name = (char *)name};
  return trash_remove(location, &entry, err);
}

/* The name is free, the image waits in the trash, and can be removed for good. */
static void
check_moved(struct location *location, const char *name, const char *id)
{
  char *found = NULL;
  CHECK_ROW(directory_id_of(location, name, &found, NULL) == -1, name);
  CHECK_ROW(directory_name_of(location, id, &found, NULL) == -1, name);
  CHECK_ROW(!has_object(location, "rbd_id.%s", name), name);
  CHECK_ROW(is_in_trash(location, name, id), name);
  CHECK_ROW(has_object(location, "rbd_header.%s", id), name);
}

static void
check_removed(struct location *location, const char *name, const char *id)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_ROW(remove_entry(location, name, id, &err) == 0, name);
  CHECK_ROW(!is_in_trash(location, name, id), name);
  CHECK_ROW(!has_object(location, "rbd_header.%s", id), name);
}

static void
test_an_image_is_moved_and_removed_with_its_data(void)
{
  const char *name = named("image");
  struct location *places[] = {place.pool, place.tenant};
  for (size_t i = 0; i < 2; i++) {
    CLEANUP(freep) char *id = make_image(places[i], name, 16 * MIB);
    write_image(places[i], id, 0, MIB, 'x');
    write_image(places[i], id, 8 * MIB, MIB, 'x');
    CLEANUP(freep) char *data = xasprintf("rbd_data.%s.", id);
    CHECK_NUMBER(count_objects(places[i], data), 2);
    CHECK_NUMBER(trash_move(places[i], name, id, NULL), 0);
    check_moved(places[i], name, id);
    CHECK_NUMBER(count_objects(places[i], data), 2);
    check_removed(places[i], name, id);
    CHECK_NUMBER(count_objects(places[i], data), 0);
    check_removed(places[i], name, id); /* fine when it is gone */
  }
}

/* It is librbd's own trash: what we moved can be had back with its tools. */
static void
test_librbd_can_restore_what_was_moved(void)
{
  const char *name = named("restored");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CHECK_NUMBER(trash_move(place.pool, name, id, NULL), 0);
  CHECK_NUMBER(rbd_trash_restore(place.pool->ioctx, id, name), 0);
  CLEANUP(freep) char *same = NULL;
  CHECK_NUMBER(directory_id_of(place.pool, name, &same, NULL), 0);
  CHECK_STRING(same, id);
  drop_image(place.pool, name);
}

static void
test_a_move_may_be_repeated(void)
{
  const char *name = named("repeated");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  for (int i = 0; i < 3; i++)
    CHECK_NUMBER(trash_move(place.pool, name, id, NULL), 0);
  check_moved(place.pool, name, id);
  check_removed(place.pool, name, id);
}

static void
test_a_younger_image_of_the_same_name_is_not_hit(void)
{
  const char *name = named("young");
  CLEANUP(freep) char *old = make_image(place.pool, name, MIB);
  CHECK_NUMBER(trash_move(place.pool, name, old, NULL), 0);
  CLEANUP(freep) char *young = make_image(place.pool, name, MIB);
  CHECK_NUMBER(trash_move(place.pool, name, old, NULL), 0); /* somebody comes late */
  CLEANUP(freep) char *found = NULL;
  CHECK_NUMBER(directory_id_of(place.pool, name, &found, NULL), 0);
  CHECK_STRING(found, young);
  CU_ASSERT(has_object(place.pool, "rbd_id.%s", name));
  CU_ASSERT_FALSE(is_in_trash(place.pool, name, young));
  check_removed(place.pool, name, old);
  struct image *image = open_image(place.pool, young);
  image_close(image);
  drop_image(place.pool, name);
}

/* The steps of a move, by hand. */
static void
call_class(const char *object, const char *method, struct wire_writer *w)
{
  char answer[8];
  REQUIRE(rados_exec(place.pool->ioctx, object, "rbd", method, w->data, w->len, answer,
                     sizeof(answer)) >= 0);
  wire_writer_clear(w);
}

enum { SOURCE_USER = 0, SOURCE_MIRRORING = 1, SOURCE_REMOVING = 3 };

static void
enter_as(uint8_t source, const char *name, const char *id, time_t deleted_s)
{
  struct wire_writer spec = {0}, w = {0};
  wire_put_u8(&spec, source);
  wire_put_string(&spec, name);
  for (int i = 0; i < 2; i++) {
    wire_put_u32(&spec, (uint32_t)deleted_s);
    wire_put_u32(&spec, 0);
  }
  wire_put_u8(&spec, 1); /* being moved */
  wire_put_string(&w, id);
  wire_put_struct(&w, 2, 1, &spec);
  wire_writer_clear(&spec);
  call_class("rbd_trash", "trash_add", &w);
}

static void
enter_in_trash(const char *name, const char *id)
{
  enter_as(SOURCE_USER, name, id, time(NULL));
}

static void
strike_out(const char *id)
{
  struct wire_writer w = {0};
  wire_put_string(&w, id);
  call_class("rbd_trash", "trash_remove", &w);
}

static void
do_steps(const char *name, const char *id, int steps)
{
  if (steps >= 1)
    enter_in_trash(name, id);
  CLEANUP(freep) char *object = xasprintf("rbd_id.%s", name);
  if (steps >= 2)
    REQUIRE(rados_remove(place.pool->ioctx, object) == 0);
  struct wire_writer w = {0};
  if (steps >= 3) {
    wire_put_string(&w, name);
    wire_put_string(&w, id);
    call_class("rbd_directory", "dir_remove_image", &w);
  }
}

static void
test_a_move_that_was_interrupted_is_finished_by_the_next(void)
{
  const char *name = named("killed");
  for (int steps = 0; steps <= 3; steps++) {
    CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
    do_steps(name, id, steps);
    CHECK_NUMBER(trash_move(place.pool, name, id, NULL), 0);
    check_moved(place.pool, name, id);
    check_removed(place.pool, name, id);
  }
}

static void
test_removing_finishes_an_interrupted_move_first(void)
{
  const char *name = named("killed");
  for (int steps = 1; steps <= 3; steps++) {
    CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
    do_steps(name, id, steps);
    CU_ASSERT(is_in_trash(place.pool, name, id));
    check_removed(place.pool, name, id);
    CU_ASSERT_FALSE(has_object(place.pool, "rbd_id.%s", name));
    char *found = NULL;
    CHECK_NUMBER(directory_id_of(place.pool, name, &found, NULL), -1);
  }
}

struct mover {
  const char *name;
  const char *id;
  bool removes;
  int result;
};

static void
move_it(void *context)
{
  struct mover *mover = context;
  mover->result = mover->removes ? remove_entry(place.pool, mover->name, mover->id, NULL)
                                 : trash_move(place.pool, mover->name, mover->id, NULL);
}

static void
run_movers(struct mover *movers, size_t count)
{
  threads_run(move_it, movers, sizeof(movers[0]), count);
  for (size_t i = 0; i < count; i++)
    CHECK_NUMBER(movers[i].result, 0);
}

static void
test_several_may_move_at_once(void)
{
  const char *name = named("moved");
  for (int round = 0; round < 10; round++) {
    CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
    struct mover movers[4];
    for (int i = 0; i < 4; i++)
      movers[i] = (struct mover){.name = name, .id = id};
    run_movers(movers, 4);
    check_moved(place.pool, name, id);
    check_removed(place.pool, name, id);
  }
}

static void
test_the_list_has_what_begins_so_and_is_due(void)
{
  CLEANUP(freep) char *a = make_image(place.pool, named("list-a"), MIB);
  CLEANUP(freep) char *b = make_image(place.pool, named("list-b"), MIB);
  CLEANUP(freep) char *other = make_image(place.pool, named("other"), MIB);
  CLEANUP(freep) char *later = make_image(place.pool, named("list-later"), MIB);
  CHECK_NUMBER(trash_move(place.pool, named("list-a"), a, NULL), 0);
  CHECK_NUMBER(trash_move(place.pool, named("list-b"), b, NULL), 0);
  CHECK_NUMBER(trash_move(place.pool, named("other"), other, NULL), 0);
  CHECK_NUMBER(rbd_trash_move(place.pool->ioctx, named("list-later"), 3600), 0);
  struct trash trash;
  REQUIRE(trash_list(place.pool, named("list-"), &trash, NULL) == 0);
  CHECK_NUMBER(trash.count, 2);
  trash_clear(&trash);
  REQUIRE(trash_list(place.pool, named(""), &trash, NULL) == 0);
  CHECK_NUMBER(trash.count, 3);
  trash_clear(&trash);
  REQUIRE(trash_list(place.tenant, named(""), &trash, NULL) == 0);
  CHECK_NUMBER(trash.count, 0);
  trash_clear(&trash);
  check_removed(place.pool, named("list-a"), a);
  check_removed(place.pool, named("list-b"), b);
  check_removed(place.pool, named("other"), other);
  CHECK_NUMBER(rbd_trash_remove(place.pool->ioctx, later, true), 0);
}

static void
test_a_long_list_is_complete(void)
{
  enum { COUNT = 600 };
  char id[32];
  for (int i = 0; i < COUNT; i++) {
    (void)snprintf(id, sizeof(id), "f%011x", i);
    enter_in_trash(named("long"), id);
  }
  struct trash trash;
  REQUIRE(trash_list(place.pool, named("long"), &trash, NULL) == 0);
  CHECK_NUMBER(trash.count, COUNT);
  for (size_t i = 0; i < trash.count; i++) {
    (void)snprintf(id, sizeof(id), "f%011x", (int)i);
    CHECK_STRING(trash.entries[i].id, id);
    strike_out(id);
  }
  trash_clear(&trash);
}

/* librbd's own list leaves out what librbd removes, also when it was killed in the middle of it. */
static void
test_what_librbd_was_killed_in_removing_is_listed(void)
{
  struct trash trash;
  enter_as(SOURCE_REMOVING, named("killed"), "fffffffffff1", time(NULL));
  enter_as(SOURCE_MIRRORING, named("killed"), "fffffffffff2", time(NULL) - 60);
  REQUIRE(trash_list(place.pool, named("killed"), &trash, NULL) == 0);
  CHECK_NUMBER(trash.count, 0); /* a live one may be at it */
  CU_ASSERT_TRUE(trash.is_being_removed);
  trash_clear(&trash);
  strike_out("fffffffffff1");
  enter_as(SOURCE_REMOVING, named("killed"), "fffffffffff1", time(NULL) - 60);
  REQUIRE(trash_list(place.pool, named("killed"), &trash, NULL) == 0);
  REQUIRE(trash.count == 1); /* the mirror's are not ours */
  CHECK_STRING(trash.entries[0].id, "fffffffffff1");
  CU_ASSERT_FALSE(trash.is_being_removed);
  trash_clear(&trash);
  strike_out("fffffffffff1");
  strike_out("fffffffffff2");
}

static void
test_what_clones_need_stays_until_they_are_gone(void)
{
  const char *name = named("parent"), *child = named("child");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  uint64_t snap_id = snapshot_image(place.pool, id, "s");
  clone_image(place.pool, name, "s", place.tenant, child);
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(image_snap_remove(image, snap_id, NULL), 0);
  image_close(image);
  CHECK_NUMBER(trash_move(place.pool, name, id, NULL), 0);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(remove_entry(place.pool, name, id, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, name);
  check_moved(place.pool, name, id); /* nothing of it is gone */
  CLEANUP(freep) char *child_id = NULL;
  REQUIRE(directory_id_of(place.tenant, child, &child_id, NULL) == 0);
  image = open_image(place.tenant, child_id); /* the clone can still read it */
  image_close(image);
  CHECK_NUMBER(trash_move(place.tenant, child, child_id, NULL), 0);
  check_removed(place.tenant, child, child_id);
  check_removed(place.pool, name, id);
}

static void
test_what_a_client_has_open_stays(void)
{
  const char *name = named("open");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  struct image *image = open_image(place.pool, id);
  CHECK_NUMBER(trash_move(place.pool, name, id, NULL), 0);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(remove_entry(place.pool, name, id, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "in use by another client");
  image_close(image);
  check_removed(place.pool, name, id);
}

CEPH_MAIN("ceph/trash", UNIT_TEST(test_an_image_is_moved_and_removed_with_its_data),
          UNIT_TEST(test_librbd_can_restore_what_was_moved), UNIT_TEST(test_a_move_may_be_repeated),
          UNIT_TEST(test_a_younger_image_of_the_same_name_is_not_hit),
          UNIT_TEST(test_a_move_that_was_interrupted_is_finished_by_the_next),
          UNIT_TEST(test_removing_finishes_an_interrupted_move_first),
          UNIT_TEST(test_several_may_move_at_once),
          UNIT_TEST(test_the_list_has_what_begins_so_and_is_due),
          UNIT_TEST(test_a_long_list_is_complete),
          UNIT_TEST(test_what_librbd_was_killed_in_removing_is_listed),
          UNIT_TEST(test_what_clones_need_stays_until_they_are_gone),
          UNIT_TEST(test_what_a_client_has_open_stays))
