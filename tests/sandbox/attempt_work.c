/* SPDX-License-Identifier: Apache-2.0 */
/* The work that the sandbox is for: it must go on inside. */
#include <curl/curl.h>
#include <errno.h>
#include <libnbd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/directory.h"
#include "lib/ceph/image_create.h"
#include "lib/ceph/image_reader.h"
#include "lib/ceph/image_writer.h"
#include "lib/ceph/unfinished.h"
#include "populator/transfer/sandbox_network.h"
#include "tests/sandbox/attempt.h"

#define IMAGE_BYTES ((uint64_t)64 << 20)
#define PIECE_BYTES ((size_t)4 << 20)

static int
report(struct error *err)
{
  (void)printf("%s\n", err->message);
  error_free(err);
  return EIO;
}

static int
allow_daemons(struct daemons *daemons, struct error **err)
{
  struct net_policy policy = {0};
  sandbox_network_add_daemons(&policy, daemons);
  daemons_clear(daemons);
  int r = attempt_sandbox ? sandbox_allow(attempt_sandbox, &policy, err) : 0;
  net_policy_clear(&policy);
  return r;
}

/* As a worker does it: the monitors are allowed, then what they know, then no more. */
static int
connect_cluster(char *conf, char *keyring, struct cluster **ret_cluster, struct error **err)
{
  char cluster_id[] = "local", user[] = "imprint";
  struct cluster_config config = {
      .cluster_id = cluster_id, .conf_file = conf, .user = user, .keyring = keyring};
  struct daemons daemons = {0};
  if (daemons_of_config(&config, &daemons, NULL, err) < 0 || allow_daemons(&daemons, err) < 0 ||
      cluster_connect(&config, NULL, ret_cluster, err) < 0 ||
      daemons_of_cluster(*ret_cluster, &daemons, err) < 0 || allow_daemons(&daemons, err) < 0)
    return -1;
  return attempt_sandbox ? sandbox_seal(attempt_sandbox, err) : 0;
}

static void
on_written(void *context)
{
  (void)context;
}

/* With a pause behind each piece. */
static int
write_image(struct location *location, const char *name, unsigned pause_ms, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  CLEANUP(image_closep) struct image *image = NULL;
  if (image_create(location, name, IMAGE_BYTES, &(struct image_layout){0}, err) < 0 ||
      directory_id_of(location, name, &id, err) < 0 || image_open(location, id, &image, err) < 0)
    return -1;
  CLEANUP(image_writer_freep) struct image_writer *writer = image_writer_new(image, 16 << 20);
  CLEANUP(freep) char *data = xcalloc(1, PIECE_BYTES);
  memset(data, 'i', PIECE_BYTES);
  for (uint64_t at = 0; at < IMAGE_BYTES; at += PIECE_BYTES) {
    if (image_writer_submit(writer, data, PIECE_BYTES, at, on_written, NULL) < 0)
      break;
    (void)poll(NULL, 0, (int)pause_ms);
  }
  return image_writer_drain(writer, err);
}

static int
check_image(struct location *location, const char *name, struct error **err)
{
  CLEANUP(image_reader_closep) struct image_reader *reader = NULL;
  CLEANUP(freep) char *data = xcalloc(1, PIECE_BYTES);
  if (image_reader_open(location, name, NULL, &reader, err) < 0 ||
      image_reader_read(reader, data, PIECE_BYTES, IMAGE_BYTES - PIECE_BYTES, err) < 0)
    return -1;
  if (data[0] != 'i' || memcmp(data, data + 1, PIECE_BYTES - 1) != 0)
    return error_set(err, ERROR_DATA_LOSS, "other bytes came back");
  return 0;
}

static int
remove_image(struct location *location, const char *name, struct error **err)
{
  CLEANUP(freep) char *id = NULL;
  struct header header;
  if (directory_id_of(location, name, &id, err) < 0 || header_read(location, id, &header, err) < 0)
    return -1;
  int r = unfinished_take_away(location, name, id, &header, "imprint.ready", err);
  header_clear(&header);
  return r;
}

static int
write_and_check(char *const *args, unsigned pause_ms)
{
  struct error *err = NULL;
  CLEANUP(cluster_unrefp) struct cluster *cluster = NULL;
  CLEANUP(location_closep) struct location *location = NULL;
  if (connect_cluster(args[0], args[1], &cluster, &err) < 0 ||
      location_open(cluster, args[2], "", &location, &err) < 0)
    return report(err);
  if (pause_ms > 0)
    (void)printf("writing\n");
  (void)fflush(stdout);
  int r = write_image(location, "sandboxed", pause_ms, &err);
  if (r == 0)
    r = check_image(location, "sandboxed", &err);
  struct error *also = NULL;
  if (remove_image(location, "sandboxed", &also) < 0)
    return report(also);
  return r < 0 ? report(err) : 0;
}

/* CONF KEYRING POOL */
static int
use_rbd(char *const *args)
{
  return write_and_check(args, 0);
}

/* The same over some seconds. */
static int
use_rbd_slowly(char *const *args)
{
  return write_and_check(args, 500);
}

static size_t
on_body(char *data, size_t size, size_t count, void *context)
{
  (void)data;
  *(uint64_t *)context += size * count;
  return size * count;
}

/* URL, and a CA bundle or "-" */
static int
fetch(char *const *args)
{
  uint64_t received = 0;
  char message[CURL_ERROR_SIZE] = "";
  (void)curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *curl = curl_easy_init();
  (void)curl_easy_setopt(curl, CURLOPT_URL, args[0]);
  if (strcmp(args[1], "-") != 0)
    (void)curl_easy_setopt(curl, CURLOPT_CAINFO, args[1]);
  (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
  (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &received);
  (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  CURLcode r = curl_easy_perform(curl);
  (void)printf("%llu bytes %s\n", (unsigned long long)received, message);
  curl_easy_cleanup(curl);
  curl_global_cleanup();
  return r == CURLE_OK ? 0 : EIO;
}

/* URI, and a folder of CA certificates or "-" */
static int
read_nbd(char *const *args)
{
  char byte[512];
  struct nbd_handle *nbd = nbd_create();
  if (strcmp(args[1], "-") != 0)
    (void)nbd_set_tls_certificates(nbd, args[1]);
  int r = nbd_connect_uri(nbd, args[0]);
  if (r == 0)
    r = nbd_pread(nbd, byte, sizeof(byte), 0, 0);
  if (r < 0)
    (void)printf("%s\n", nbd_get_error());
  nbd_close(nbd);
  return r == 0 ? 0 : EIO;
}

const struct attempt work_attempts[] = {
    {"rbd", 3, use_rbd},
    {"rbd-slowly", 3, use_rbd_slowly},
    {"fetch", 2, fetch},
    {"nbd", 2, read_nbd},
    {0},
};
