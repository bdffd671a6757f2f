/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/target_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

static void
test_a_path_below_is_opened(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *base = realpath(dir, NULL);
  CLEANUP(freep) char *pods = temp_dir_path(base, "pods");
  REQUIRE(mkdir(pods, 0700) == 0);
  CLEANUP(freep) char *path = temp_dir_path(pods, "mount");
  const struct target_base kubelet = {.real = base, .given = base};
  struct target_path target;
  struct stat now;
  REQUIRE(target_path_open(&kubelet, "target_path", path, &target, NULL) == 0);
  CHECK_STRING(target.real, path);
  CHECK_STRING(target.name, "mount");
  CU_ASSERT(!target_path_stat(&target, &now));
  CHECK_NUMBER(target_path_remove(&target, NULL), 0);
  for (int i = 0; i < 2; i++) /* again is fine */
    CHECK_NUMBER(target_path_make_folder(&target, NULL), 0);
  CU_ASSERT(target_path_stat(&target, &now) && S_ISDIR(now.st_mode));
  CHECK_NUMBER(access(target.by_fd, F_OK), 0);
  CLEANUP(error_freep) struct error *err = NULL;
  CHECK_NUMBER(target_path_make_file(&target, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is no file");
  temp_dir_write(path, "precious", "x");
  CHECK_NUMBER(target_path_remove(&target, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "holds files of its own");
  CLEANUP(freep) char *precious = temp_dir_path(path, "precious");
  REQUIRE(unlink(precious) == 0);
  CHECK_NUMBER(target_path_remove(&target, NULL), 0);
  for (int i = 0; i < 2; i++)
    CHECK_NUMBER(target_path_make_file(&target, NULL), 0);
  CHECK_NUMBER(target_path_make_folder(&target, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is no folder");
  CHECK_NUMBER(target_path_remove(&target, NULL), 0);
  temp_dir_write(pods, "mount", "not ours");
  CHECK_NUMBER(target_path_remove(&target, &err), -1);
  CHECK_ERROR(&err, ERROR_FAILED_PRECONDITION, "was not made by this driver");
  target_path_clear(&target);
}

static void
check_refused(const char *base, const char *path, enum error_code code, const char *said)
{
  CLEANUP(error_freep) struct error *err = NULL;
  const struct target_base kubelet = {.real = base, .given = base};
  struct target_path target;
  CHECK_ROW(target_path_open(&kubelet, "target_path", path, &target, &err) == -1, path);
  CHECK_ERROR(&err, code, said);
}

static void
test_other_paths_are_refused(void)
{
  static const char form[] = "without '.', '..' and empty parts";
  check_refused("/base", "", ERROR_INVALID_ARGUMENT, "target_path is needed");
  check_refused("/base", "base/x", ERROR_INVALID_ARGUMENT, form);
  check_refused("/base", "/base/../x", ERROR_INVALID_ARGUMENT, form);
  check_refused("/base", "/base/.", ERROR_INVALID_ARGUMENT, form);
  check_refused("/base", "/base//x", ERROR_INVALID_ARGUMENT, form);
  check_refused("/base", "/base/x/", ERROR_INVALID_ARGUMENT, form);
  check_refused("/base", "/", ERROR_INVALID_ARGUMENT, form);
  check_refused("/base", "/basement/x", ERROR_INVALID_ARGUMENT, "lies outside of '/base'");
  check_refused("/base", "/base", ERROR_INVALID_ARGUMENT, "lies outside of '/base'");
  check_refused("/nonexistent", "/nonexistent/x", ERROR_NOT_FOUND, "its folder does not exist");
}

static void
test_links_are_not_followed(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *base = realpath(dir, NULL);
  CLEANUP(freep) char *link = temp_dir_path(base, "link");
  CLEANUP(freep) char *below = temp_dir_path(link, "x");
  REQUIRE(symlink("/tmp", link) == 0);
  check_refused(base, link, ERROR_INVALID_ARGUMENT, "is a symbolic link: refused");
  check_refused(base, below, ERROR_INVALID_ARGUMENT, "a symbolic link, or what is no folder");
}

static void
test_the_folder_itself_may_be_a_link(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *base = realpath(dir, NULL);
  CLEANUP(freep) char *real = temp_dir_path(base, "disk");
  CLEANUP(freep) char *link = temp_dir_path(base, "kubelet");
  CLEANUP(freep) char *given = xasprintf("%s/", link);
  CLEANUP(freep) char *by_link = temp_dir_path(link, "mount");
  CLEANUP(freep) char *expected = temp_dir_path(real, "mount");
  CLEANUP(freep) char *elsewhere = temp_dir_path(base, "kubelet2/mount");
  REQUIRE(mkdir(real, 0700) == 0 && symlink(real, link) == 0);
  const struct target_base kubelet = {.real = real, .given = given};
  const char *const paths[] = {by_link, expected};
  for (size_t i = 0; i < 2; i++) {
    struct target_path target;
    REQUIRE(target_path_open(&kubelet, "target_path", paths[i], &target, NULL) == 0);
    CHECK_STRING(target.real, expected);
    target_path_clear(&target);
  }
  CLEANUP(error_freep) struct error *err = NULL;
  struct target_path target;
  CHECK_NUMBER(target_path_open(&kubelet, "target_path", elsewhere, &target, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "lies outside of");
}

UNIT_MAIN("nodeplugin/target_path", UNIT_TEST(test_a_path_below_is_opened),
          UNIT_TEST(test_other_paths_are_refused), UNIT_TEST(test_links_are_not_followed),
          UNIT_TEST(test_the_folder_itself_may_be_a_link))
