/* SPDX-License-Identifier: Apache-2.0 */
/* What needs no cluster: the file, how it is read again, and how a connection fails before it is
 * tried. The rest is tested against a real one. */
#include "lib/ceph/clusters.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/capture.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/unit.h"

#define ENTRY(id, conf) "{\"clusterID\": \"" id "\", \"confFile\": \"" conf "\"}"
#define CLUSTERS(entries) "{\"clusters\": [" entries "]}"

/* The ids in the file now, as "a b c". */
static void
check_ids(struct clusters *clusters, const char *expected)
{
  struct cluster_ids ids;
  clusters_ids(clusters, &ids);
  CLEANUP(freep) char *joined = xstrdup("");
  for (size_t i = 0; i < ids.count; i++) {
    char *longer = xasprintf("%s%s%s", joined, i ? " " : "", ids.ids[i]);
    free(joined);
    joined = longer;
  }
  CHECK_STRING(joined, expected);
  cluster_ids_clear(&ids);
}

static struct clusters *
open_with(const char *dir, const char *text)
{
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *path = temp_dir_path(dir, "config.json");
  temp_dir_write(dir, "config.json", text);
  struct clusters *clusters = NULL;
  REQUIRE(clusters_open(path, NULL, &clusters, &err) == 0);
  return clusters;
}

/* What the log says while the file is looked at. */
static char *
log_of_lookup(struct clusters *clusters, const char *expected_ids)
{
  struct capture capture;
  capture_start(&capture);
  check_ids(clusters, expected_ids);
  return capture_stop(&capture);
}

static void
test_ids_are_sorted(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(clusters_closep)
  struct clusters *clusters =
      open_with(dir, CLUSTERS(ENTRY("c", "/1") "," ENTRY("a", "/2") "," ENTRY("b", "/3")));
  check_ids(clusters, "a b c");
}

static void
test_a_changed_file_is_read_again(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(clusters_closep) struct clusters *clusters = open_with(dir, CLUSTERS(ENTRY("a", "/1")));
  check_ids(clusters, "a");
  temp_dir_write(dir, "config.json", CLUSTERS(ENTRY("b", "/1"))); /* of the same size */
  CLEANUP(freep) char *log = log_of_lookup(clusters, "b");
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "level=info"));
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "changed, read again"));
  CLEANUP(freep) char *quiet = log_of_lookup(clusters, "b");
  CHECK_STRING(quiet, "");
  temp_dir_write(dir, "config.json", CLUSTERS(ENTRY("b", "/1") "," ENTRY("a", "/2")));
  check_ids(clusters, "a b");
}

static void
test_a_bad_file_leaves_what_was_read_in_force_and_says_so_once(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(clusters_closep) struct clusters *clusters = open_with(dir, CLUSTERS(ENTRY("a", "/1")));
  temp_dir_write(dir, "config.json", CLUSTERS(ENTRY("b", "/1")) "garbage");
  CLEANUP(freep) char *log = log_of_lookup(clusters, "a");
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "level=error"));
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "configuration is bad, what was read before stays in force"));
  CU_ASSERT_PTR_NOT_NULL(strstr(log, "config.json': not valid JSON"));
  CLEANUP(freep) char *quiet = log_of_lookup(clusters, "a");
  CHECK_STRING(quiet, "");
  temp_dir_write(dir, "config.json", CLUSTERS(ENTRY("b", "/1")));
  check_ids(clusters, "b"); /* mended */
}

static void
test_a_file_that_is_gone_leaves_what_was_read_in_force(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(clusters_closep) struct clusters *clusters = open_with(dir, CLUSTERS(ENTRY("a", "/1")));
  CLEANUP(freep) char *path = temp_dir_path(dir, "config.json");
  REQUIRE(unlink(path) == 0);
  check_ids(clusters, "a");
  temp_dir_write(dir, "config.json", CLUSTERS(ENTRY("b", "/1")));
  check_ids(clusters, "b");
}

static void
test_opening_fails_without_a_good_file(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *path = temp_dir_path(dir, "config.json");
  struct clusters *clusters = NULL;
  CU_ASSERT_EQUAL(clusters_open(path, NULL, &clusters, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, path);
  temp_dir_write(dir, "config.json", "{}");
  CU_ASSERT_EQUAL(clusters_open(path, NULL, &clusters, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, path);
  CU_ASSERT_EQUAL(clusters_open(dir, NULL, &clusters, &err), -1);
  CHECK_ERROR(&err, ERROR_INTERNAL, "Is a directory");
  CU_ASSERT_PTR_NULL(clusters);
  clusters_close(NULL);
}

static void
test_a_file_above_1_mib_is_refused(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(freep) char *path = temp_dir_path(dir, "config.json");
  CLEANUP(freep) char *text = xcalloc((1 << 20) + 2, 1);
  memset(text, ' ', (1 << 20) + 1);
  memcpy(text, CLUSTERS(ENTRY("a", "/1")), strlen(CLUSTERS(ENTRY("a", "/1"))));
  temp_dir_write(dir, "config.json", text);
  struct clusters *clusters = NULL;
  CU_ASSERT_EQUAL(clusters_open(path, NULL, &clusters, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "is larger than 1 MiB");
  text[(1 << 20) - 1] = '\0';
  temp_dir_write(dir, "config.json", text);
  CU_ASSERT_EQUAL(clusters_open(path, NULL, &clusters, &err), 0);
  clusters_close(clusters);
}

static void
test_without_an_id_there_must_be_one_cluster(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(clusters_closep)
  struct clusters *clusters = open_with(dir, CLUSTERS(ENTRY("a", "/1") "," ENTRY("b", "/2")));
  struct cluster *cluster = NULL;
  CU_ASSERT_EQUAL(clusters_get(clusters, NULL, &cluster, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT,
              "clusterID is needed: the configuration names 2 clusters");
  CU_ASSERT_EQUAL(clusters_get(clusters, "", &cluster, &err), -1);
  CHECK_ERROR(&err, ERROR_INVALID_ARGUMENT, "clusterID is needed");
  CU_ASSERT_PTR_NULL(cluster);
}

static void
test_an_unknown_id_is_not_found(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(clusters_closep) struct clusters *clusters = open_with(dir, CLUSTERS(ENTRY("a", "/1")));
  struct cluster *cluster = NULL;
  CU_ASSERT_EQUAL(clusters_get(clusters, "b", &cluster, &err), -1);
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "no cluster 'b' in the configuration");
  temp_dir_write(dir, "config.json", CLUSTERS(ENTRY("b", "/1")));
  CU_ASSERT_EQUAL(clusters_get(clusters, "a", &cluster, &err), -1); /* it is gone now */
  CHECK_ERROR(&err, ERROR_NOT_FOUND, "no cluster 'a' in the configuration");
}

/* Not NOT_FOUND: that would say that the cluster is not in the configuration. */
static void
test_a_cluster_that_cannot_be_connected_is_unavailable(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(error_freep) struct error *err = NULL;
  CLEANUP(clusters_closep)
  struct clusters *clusters = open_with(dir, CLUSTERS(ENTRY("a", "/nowhere/ceph.conf")));
  struct cluster *cluster = NULL;
  for (int i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(clusters_get(clusters, i ? "a" : NULL, &cluster, &err), -1);
    CHECK_ERROR(&err, ERROR_UNAVAILABLE, "cluster 'a': read confFile '/nowhere/ceph.conf'");
  }
  CU_ASSERT_EQUAL(clusters_get(clusters, "a", &cluster, NULL), -1);
  CU_ASSERT_PTR_NULL(cluster);
}

struct asker {
  struct clusters *clusters;
  unsigned unavailable;
};

static void *
ask(void *arg)
{
  struct asker *asker = arg;
  for (int i = 0; i < 20; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct cluster *cluster;
    if (clusters_get(asker->clusters, "a", &cluster, &err) < 0)
      asker->unavailable += err->code == ERROR_UNAVAILABLE;
  }
  return NULL;
}

/* While the file changes under them. */
static void
test_threads_may_ask_at_once(void)
{
  CLEANUP(temp_dir_removep) char *dir = temp_dir_make();
  CLEANUP(clusters_closep)
  struct clusters *clusters = open_with(dir, CLUSTERS(ENTRY("a", "/nowhere/1")));
  struct asker askers[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    askers[i] = (struct asker){.clusters = clusters};
    REQUIRE(pthread_create(&threads[i], NULL, ask, &askers[i]) == 0);
  }
  for (int i = 0; i < 10; i++)
    temp_dir_write(dir, "config.json",
                   i % 2 ? CLUSTERS(ENTRY("a", "/nowhere/1")) : CLUSTERS(ENTRY("a", "/nowhere/2")));
  for (int i = 0; i < 4; i++) {
    (void)pthread_join(threads[i], NULL);
    CHECK_NUMBER(askers[i].unavailable, 20);
  }
}

UNIT_MAIN("lib/ceph/clusters", UNIT_TEST(test_ids_are_sorted),
          UNIT_TEST(test_a_changed_file_is_read_again),
          UNIT_TEST(test_a_bad_file_leaves_what_was_read_in_force_and_says_so_once),
          UNIT_TEST(test_a_file_that_is_gone_leaves_what_was_read_in_force),
          UNIT_TEST(test_opening_fails_without_a_good_file),
          UNIT_TEST(test_a_file_above_1_mib_is_refused),
          UNIT_TEST(test_without_an_id_there_must_be_one_cluster),
          UNIT_TEST(test_an_unknown_id_is_not_found),
          UNIT_TEST(test_a_cluster_that_cannot_be_connected_is_unavailable),
          UNIT_TEST(test_threads_may_ask_at_once))
