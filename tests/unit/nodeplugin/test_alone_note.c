/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/alone_note.h"

#include <stdlib.h>

#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static const struct volume_id volume = {.image_id = "10308a9ee0b3"};

static void
test_a_note_is_read_as_it_was_written(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  const struct mapper_env env = {.run_dir = dir};
  struct alone_note note = {.written = 7, .is_taken = true}, found;
  CHECK_NUMBER(alone_note_read(&env, &volume, &found), false);
  alone_note_add(&note, 4101);
  alone_note_add(&note, 4102);
  alone_note_add(&note, 4102);
  alone_note_add(&note, 0); /* nobody */
  REQUIRE(alone_note_write(&env, &volume, &note, NULL) == 0);
  REQUIRE(alone_note_read(&env, &volume, &found));
  CHECK_NUMBER(found.written, 7);
  CHECK_NUMBER(found.client_count, 2);
  CHECK_NUMBER(alone_note_has(&found, 4101), true);
  CHECK_NUMBER(alone_note_has(&found, 4102), true);
  CHECK_NUMBER(alone_note_has(&found, 0), false);
  CHECK_NUMBER(found.is_taken, true);
  alone_note_remove(&env, &volume);
  alone_note_remove(&env, &volume);
  CHECK_NUMBER(alone_note_read(&env, &volume, &found), false);
}

static void
test_the_newest_clients_are_kept(void)
{
  struct alone_note note = {0};
  for (uint64_t client = 1; client <= ALONE_NOTE_CLIENTS_MAX + 2; client++)
    alone_note_add(&note, client);
  CHECK_NUMBER(note.client_count, ALONE_NOTE_CLIENTS_MAX);
  CHECK_NUMBER(alone_note_has(&note, 2), false);
  CHECK_NUMBER(alone_note_has(&note, 3), true);
  CHECK_NUMBER(alone_note_has(&note, ALONE_NOTE_CLIENTS_MAX + 2), true);
}

static void
test_what_is_no_number_is_nobody(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  const struct mapper_env env = {.run_dir = dir};
  static const char *const texts[] = {"", "x", "7 -1", "7 client.5"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    struct alone_note found;
    temp_dir_write(dir, "alone.10308a9ee0b3", texts[i]);
    CHECK_ROW(alone_note_read(&env, &volume, &found), texts[i]);
    CHECK_NUMBER(found.client_count, 0);
    CHECK_NUMBER(found.is_taken, false);
  }
}

UNIT_MAIN("nodeplugin/alone_note", UNIT_TEST(test_a_note_is_read_as_it_was_written),
          UNIT_TEST(test_the_newest_clients_are_kept), UNIT_TEST(test_what_is_no_number_is_nobody))
