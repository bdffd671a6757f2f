/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed process leaves in Ceph, and how its successor gets rid of it. The process to be
 * killed is this program again, started with arguments: librados does not survive a fork. */
#include "lib/ceph/fence.h"

#include <rbd/librbd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/ceph/image_clients.h"
#include "tests/ceph/place.h"
#include "tests/unit/temp_dir.h"

/* The other side: opens the image with its lock, says so by a byte, and waits to be killed. */
static int
hold(const char *state_dir, const char *id)
{
  struct fence *fence = NULL;
  struct cluster *cluster = NULL;
  struct location *location = NULL;
  struct image *image = NULL;
  place_config(&place.config);
  if (fence_open(state_dir, &fence, NULL) < 0 ||
      cluster_connect(&place.config, fence, &cluster, NULL) < 0 ||
      location_open(cluster, getenv("POOL"), "", &location, NULL) < 0 ||
      image_open(location, id, &image, NULL) < 0 ||
      rbd_lock_acquire(image_rbd(image), RBD_LOCK_MODE_EXCLUSIVE) < 0)
    return 1;
  if (write(STDOUT_FILENO, "r", 1) != 1)
    return 1;
  (void)sleep(60); /* whoever started it has died himself if nobody kills it */
  return 1;
}

/* Starts the other side, waits until it holds the image, and kills it. */
static void
run_and_kill(const char *state_dir, const char *id)
{
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  pid_t pid = fork();
  if (pid == 0) {
    (void)dup2(ready[1], STDOUT_FILENO);
    (void)execl("/proc/self/exe", "ceph_fence", state_dir, id, (char *)NULL);
    _exit(127);
  }
  (void)close(ready[1]);
  char byte = 0;
  CHECK_NUMBER(read(ready[0], &byte, 1), 1);
  (void)close(ready[0]);
  REQUIRE(pid > 0 && kill(pid, SIGKILL) == 0);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  CU_ASSERT(WIFSIGNALED(status));
}

static size_t
count_clients(const char *id)
{
  struct image_clients clients;
  REQUIRE(image_clients_list(place.pool, id, &clients, NULL) == 0);
  size_t count = clients.count;
  image_clients_clear(&clients);
  return count;
}

static void
test_a_successor_gets_the_lock_at_once(void)
{
  const char *name = named("locked");
  CLEANUP(freep) char *id = make_image(place.pool, name, MIB);
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  run_and_kill(dir, id);

  /* Without the fence Ceph takes it for alive: whoever wanted the lock now would wait for it half a
   * minute. */
  (void)sleep(2);
  CHECK_NUMBER(count_clients(id), 1);

  int64_t begin_ms = clock_now_ms();
  struct fence *fence = NULL;
  struct cluster *cluster = NULL;
  REQUIRE(fence_open(dir, &fence, NULL) == 0);
  REQUIRE(cluster_connect(&place.config, fence, &cluster, NULL) == 0);
  CHECK_NUMBER(count_clients(id), 0);
  struct location *location = place_open(cluster, place.pool);
  struct image *image = open_image(location, id);
  CHECK_NUMBER(rbd_lock_acquire(image_rbd(image), RBD_LOCK_MODE_EXCLUSIVE), 0);
  CHECK_NUMBER(rbd_write(image_rbd(image), 0, 1, "x"), 1);
  CU_ASSERT(clock_now_ms() - begin_ms < 5000);
  image_close(image);
  location_close(location);
  cluster_unref(cluster);
  fence_close(fence);

  CLEANUP(freep) char *left = temp_dir_read(dir, "clients");
  CHECK_STRING(left, ""); /* all are accounted for */
  CU_ASSERT_FALSE(cluster_is_blocklisted(place.cluster));
  drop_image(place.pool, name);
}

static void
test_who_ends_in_order_is_not_blocklisted(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  char *addresses[2];
  for (int i = 0; i < 2; i++) {
    struct fence *fence = NULL;
    struct cluster *cluster = NULL;
    REQUIRE(fence_open(dir, &fence, NULL) == 0);
    REQUIRE(cluster_connect(&place.config, fence, &cluster, NULL) == 0);
    addresses[i] = xstrdup(strrchr(cluster->address, '/'));
    cluster_unref(cluster);
    fence_close(fence);
  }
  CLEANUP(freep) char *list = admin_command("{\"prefix\": \"osd blocklist ls\"}");
  for (int i = 0; i < 2; i++) {
    addresses[i][strcspn(addresses[i], ",]")] = '\0';
    CHECK_ROW(!strstr(list, addresses[i]), addresses[i]);
    free(addresses[i]);
  }
}

int
main(int argc, char **argv)
{
  static const struct unit_test tests[] = {UNIT_TEST(test_a_successor_gets_the_lock_at_once),
                                           UNIT_TEST(test_who_ends_in_order_is_not_blocklisted)};
  return argc == 3 ? hold(argv[1], argv[2]) : place_run("ceph/fence", tests, 2);
}
