/* SPDX-License-Identifier: Apache-2.0 */
/* What every program here starts from: a connection, the locations to work in, names that nobody
 * else uses, and a last test that nothing was left behind. */
#ifndef TESTS_CEPH_PLACE_H
#define TESTS_CEPH_PLACE_H

#include "lib/ceph/image.h"
#include "lib/ceph/location.h"
#include "tests/unit/unit.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

/* Set while tests run. */
struct place {
  struct cluster *cluster;
  struct location *pool;
  struct location *tenant; /* a namespace of the same pool */
  struct location *other;  /* another pool, which data can go to */
  struct cluster_config config;
};
extern struct place place;

/* As UNIT_MAIN(). A test at the end finds what the others have left in the pools. */
#define CEPH_MAIN(suite, ...)                                                                      \
  int main(void)                                                                                   \
  {                                                                                                \
    static const struct unit_test tests[] = {__VA_ARGS__};                                         \
    return place_run(suite, tests, sizeof(tests) / sizeof(tests[0]));                              \
  }

int place_run(const char *suite, const struct unit_test *tests, size_t count);

/* The configuration that the environment asks for; its strings are freed with place. */
void place_config(struct cluster_config *ret_config);
/* A connection of its own: another client to the cluster. */
struct cluster *place_connect(void);
struct location *place_open(struct cluster *cluster, const struct location *like);

/* A name of this process; kept until it ends. */
const char *named(const char *what);

/* Creates an image with the usual features and returns its id, to be freed. */
char *make_image(struct location *location, const char *name, uint64_t size_bytes);
struct image *open_image(struct location *location, const char *id);
/* Snapshots it by the lib's own way; the snapshot's id. */
uint64_t snapshot_image(struct location *location, const char *id, const char *snap_name);
void clone_image(struct location *parent, const char *parent_name, const char *snap_name,
                 struct location *location, const char *name);
/* Removes the image with its snapshots through librbd, whatever state it is in; fine when there is
 * none. */
void drop_image(struct location *location, const char *name);
void write_image(struct location *location, const char *id, uint64_t offset, size_t len,
                 unsigned char byte);

bool has_object(struct location *location, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* How many objects have names that begin so, in the location's namespace. */
size_t count_objects(struct location *location, const char *prefix);

/* A command to the monitors as client.admin; the answer, to be freed. */
char *admin_command(const char *json);

#endif
