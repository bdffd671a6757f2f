/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ceph/fence.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/base/memory.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

/* What stands in for the cluster: remembers whom it was told to blocklist. */
struct blocklist {
  char *addresses;       /* "a b " */
  const char *fails_for; /* an address, or NULL */
  const char *dir;       /* where to look at the file meanwhile, or NULL */
  char *file_while_called;
};

static int
note_address(void *context, const char *address, struct error **err)
{
  struct blocklist *list = context;
  if (list->fails_for && strcmp(address, list->fails_for) == 0)
    return error_set(err, ERROR_UNAVAILABLE, "no quorum");
  char *longer = xasprintf("%s%s ", list->addresses ? list->addresses : "", address);
  free(list->addresses);
  list->addresses = longer;
  if (list->dir) {
    free(list->file_while_called);
    list->file_while_called = temp_dir_read(list->dir, "clients");
  }
  return 0;
}

static void
blocklist_clear(struct blocklist *list)
{
  free(list->addresses);
  free(list->file_while_called);
  *list = (struct blocklist){0};
}

static struct fence *
open_fence(const char *dir)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct fence *fence = NULL;
  REQUIRE(fence_open(dir, &fence, &err) == 0);
  return fence;
}

/* Joins, and checks who was blocklisted for it: "a b ", or NULL for nobody. */
static void
check_join(struct fence *fence, const char *cluster_id, const char *address, const char *expected)
{
  struct blocklist list = {0};
  CLEANUP(error_freep) struct error *err = NULL;
  CU_ASSERT_EQUAL(fence_join(fence, cluster_id, address, note_address, &list, &err), 0);
  CHECK_STRING(list.addresses, expected);
  blocklist_clear(&list);
}

static void
check_file(const char *dir, const char *expected)
{
  CLEANUP(freep) char *text = temp_dir_read(dir, "clients");
  CHECK_STRING(text, expected);
}

/* A process that joins with each "cluster address" pair and dies without a word. */
static void
die_after_joining(const char *dir, const char *const *pairs)
{
  pid_t pid = fork();
  if (pid == 0) {
    struct fence *fence;
    if (fence_open(dir, &fence, NULL) < 0)
      _exit(1);
    for (; *pairs; pairs += 2) {
      if (fence_join(fence, pairs[0], pairs[1], note_address, &(struct blocklist){0}, NULL) < 0)
        _exit(2);
    }
    (void)kill(getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void
test_a_folder_is_made_for_the_owner_alone(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(freep) char *state = temp_dir_path(dir, "state");
  fence_close(open_fence(state));
  struct stat info;
  REQUIRE(stat(state, &info) == 0);
  CHECK_NUMBER(info.st_mode & 0777, 0700);
}

static void
test_clients_are_written_down_and_crossed_out(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  check_join(fence, "prod", "v1:10.0.0.1:0/1", NULL);
  check_file(dir, "prod v1:10.0.0.1:0/1\n");
  check_join(fence, "test", "v1:10.0.0.1:0/2", NULL);
  check_join(fence, "prod", "v1:10.0.0.1:0/3", NULL); /* a second connection to the same */
  check_file(dir, "prod v1:10.0.0.1:0/1\ntest v1:10.0.0.1:0/2\nprod v1:10.0.0.1:0/3\n");
  fence_leave(fence, "prod", "v1:10.0.0.1:0/2"); /* that is the other cluster's */
  fence_leave(fence, "prod", "v1:10.0.0.1:0/1");
  fence_leave(fence, "test", "v1:10.0.0.1:0/2");
  check_file(dir, "prod v1:10.0.0.1:0/3\n");
  fence_leave(fence, "prod", "v1:10.0.0.1:0/3");
  fence_leave(fence, "prod", "v1:10.0.0.1:0/3");
  check_file(dir, "");
}

static void
test_the_file_is_for_the_owner_alone(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  check_join(fence, "prod", "a", NULL);
  CLEANUP(freep) char *path = temp_dir_path(dir, "clients");
  struct stat info;
  REQUIRE(stat(path, &info) == 0);
  CHECK_NUMBER(info.st_mode & 0777, 0600);
}

static void
test_a_live_process_keeps_others_out(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  struct fence *fence = open_fence(dir);
  pid_t pid = fork();
  if (pid == 0) {
    struct error *err = NULL;
    struct fence *second;
    bool is_refused = fence_open(dir, &second, &err) < 0 &&
                      err->code == ERROR_FAILED_PRECONDITION && strstr(err->message, dir) &&
                      strstr(err->message, "in use by another live process");
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CHECK_NUMBER(status, 0);
  fence_close(fence);
  fence = open_fence(dir); /* the place is free again */
  fence_close(fence);
}

static void
test_a_dead_predecessor_is_blocklisted_cluster_by_cluster(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  die_after_joining(dir, (const char *const[]){"prod", "p1", "test", "t1", "prod", "p2", NULL});
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  check_join(fence, "prod", "own1", "p1 p2 ");
  check_join(fence, "other", "own2", NULL);
  check_join(fence, "prod", "own3", NULL); /* once is enough, and never ourselves */
  check_join(fence, "test", "own4", "t1 ");
  for (int i = 1; i <= 4; i++) {
    char own[8];
    (void)snprintf(own, sizeof(own), "own%d", i);
    fence_leave(fence, i == 2 ? "other" : i == 4 ? "test" : "prod", own);
  }
  check_file(dir, "");
}

static void
test_a_process_that_ended_in_order_leaves_nobody_to_blocklist(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  struct fence *fence = open_fence(dir);
  check_join(fence, "prod", "p1", NULL);
  fence_leave(fence, "prod", "p1");
  fence_close(fence);
  fence = open_fence(dir);
  check_join(fence, "prod", "p2", NULL);
  fence_close(fence);
}

/* A predecessor that died before it came to fence its own predecessor. */
static void
test_the_dead_of_several_generations_are_blocklisted(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  die_after_joining(dir, (const char *const[]){"prod", "p1", "test", "t1", NULL});
  die_after_joining(dir, (const char *const[]){NULL});
  die_after_joining(dir, (const char *const[]){"test", "t2", NULL});
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  check_join(fence, "prod", "own", "p1 ");
  check_join(fence, "test", "own", "t2 "); /* t1 was fenced by t2 */
}

/* Else a process that dies while it fences would not be fenced itself. */
static void
test_the_own_address_is_written_before_anybody_is_blocklisted(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  die_after_joining(dir, (const char *const[]){"prod", "p1", NULL});
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  struct blocklist list = {.dir = dir};
  CU_ASSERT_EQUAL(fence_join(fence, "prod", "own", note_address, &list, NULL), 0);
  REQUIRE(list.file_while_called);
  CU_ASSERT_PTR_NOT_NULL(strstr(list.file_while_called, "prod own\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(list.file_while_called, "prod p1\n"));
  check_file(dir, "prod own\n");
  blocklist_clear(&list);
}

static void
test_who_could_not_be_blocklisted_is_tried_again(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  die_after_joining(dir, (const char *const[]){"prod", "p1", "prod", "p2", NULL});
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  CLEANUP(error_freep) struct error *err = NULL;
  struct blocklist list = {.fails_for = "p2"};
  CU_ASSERT_EQUAL(fence_join(fence, "prod", "own", note_address, &list, &err), -1);
  CHECK_ERROR(&err, ERROR_UNAVAILABLE, "fence the predecessor's client p2: no quorum");
  blocklist_clear(&list);
  CLEANUP(freep) char *text = temp_dir_read(dir, "clients");
  REQUIRE(text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "prod own\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "prod p2\n"));
  check_join(fence, "prod", "own2", "p2 ");
}

static void
test_a_damaged_file_is_read_as_far_as_it_goes(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  temp_dir_write(dir, "clients", "garbage\n\nprod p1\n prod\nprod v1:1/2 x\nprod cut");
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  struct blocklist list = {0};
  CU_ASSERT_EQUAL(fence_join(fence, "prod", "own", note_address, &list, NULL), 0);
  REQUIRE(list.addresses);
  CU_ASSERT_PTR_NOT_NULL(strstr(list.addresses, "p1 "));
  CU_ASSERT_PTR_NOT_NULL(strstr(list.addresses, "v1:1/2 x "));
  CU_ASSERT_PTR_NOT_NULL(strstr(list.addresses, "cut "));
  blocklist_clear(&list);
}

static void
test_a_folder_that_cannot_be_used_is_named(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(error_freep) struct error *err = NULL;
  struct fence *fence = NULL;
  CLEANUP(freep) char *missing = temp_dir_path(dir, "a/b");
  CU_ASSERT_EQUAL(fence_open(missing, &fence, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, missing);
  temp_dir_write(dir, "file", "");
  CLEANUP(freep) char *file = temp_dir_path(dir, "file");
  CU_ASSERT_EQUAL(fence_open(file, &fence, &err), -1);
  CHECK_ERROR(&err, ERROR_INTERNAL, file);
  CU_ASSERT_PTR_NULL(fence);
  fence_close(NULL);
}

static void
test_a_client_that_cannot_be_written_down_is_an_error(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *in_the_way = temp_dir_path(dir, "clients.new");
  REQUIRE(mkdir(in_the_way, 0700) == 0);
  struct blocklist list = {0};
  CU_ASSERT_EQUAL(fence_join(fence, "prod", "own", note_address, &list, &err), -1);
  CHECK_ERROR(&err, ERROR_INTERNAL, "clients.new");
  REQUIRE(rmdir(in_the_way) == 0);
}

struct joiner {
  struct fence *fence;
  char cluster_id[8];
};

static void *
join_and_leave(void *arg)
{
  struct joiner *joiner = arg;
  for (int i = 0; i < 50; i++) {
    struct blocklist list = {0};
    (void)fence_join(joiner->fence, joiner->cluster_id, "own", note_address, &list, NULL);
    blocklist_clear(&list);
    if (i < 49)
      fence_leave(joiner->fence, joiner->cluster_id, "own");
  }
  return NULL;
}

static void
test_threads_may_join_and_leave_at_once(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(fence_closep) struct fence *fence = open_fence(dir);
  struct joiner joiners[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    joiners[i].fence = fence;
    (void)snprintf(joiners[i].cluster_id, sizeof(joiners[i].cluster_id), "c%d", i);
    REQUIRE(pthread_create(&threads[i], NULL, join_and_leave, &joiners[i]) == 0);
  }
  for (int i = 0; i < 4; i++)
    (void)pthread_join(threads[i], NULL);
  CLEANUP(freep) char *text = temp_dir_read(dir, "clients");
  REQUIRE(text);
  CHECK_NUMBER(strlen(text), 4 * strlen("c0 own\n"));
}

UNIT_MAIN("lib/ceph/fence", UNIT_TEST(test_a_folder_is_made_for_the_owner_alone),
          UNIT_TEST(test_clients_are_written_down_and_crossed_out),
          UNIT_TEST(test_the_file_is_for_the_owner_alone),
          UNIT_TEST(test_a_live_process_keeps_others_out),
          UNIT_TEST(test_a_dead_predecessor_is_blocklisted_cluster_by_cluster),
          UNIT_TEST(test_a_process_that_ended_in_order_leaves_nobody_to_blocklist),
          UNIT_TEST(test_the_dead_of_several_generations_are_blocklisted),
          UNIT_TEST(test_the_own_address_is_written_before_anybody_is_blocklisted),
          UNIT_TEST(test_who_could_not_be_blocklisted_is_tried_again),
          UNIT_TEST(test_a_damaged_file_is_read_as_far_as_it_goes),
          UNIT_TEST(test_a_folder_that_cannot_be_used_is_named),
          UNIT_TEST(test_a_client_that_cannot_be_written_down_is_an_error),
          UNIT_TEST(test_threads_may_join_and_leave_at_once))
