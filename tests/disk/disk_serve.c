/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a file with the NBD server that qemu-nbd gets its images from, to any client on a unix
 * socket. The tests beside it send it clients that are not ours.
 *
 *   disk_serve SOCKET FILE */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "populator/format/foreign/block_cache.h"
#include "populator/format/foreign/disk_server.h"

struct client {
  struct disk_server *server;
  int fd;
};

static int
read_cached(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  return block_cache_read(context, buf, len, offset, err);
}

static void *
client_main(void *arg)
{
  struct client *client = arg;
  (void)disk_server_serve(client->server, client->fd);
  (void)close(client->fd);
  free(client);
  return NULL;
}

static int
listen_at(const char *path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (strlen(path) >= sizeof(address.sun_path))
    return -1;
  memcpy(address.sun_path, path, strlen(path));
  if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 64) < 0)
    return -1;
  return fd;
}

int
main(int argc, char **argv)
{
  struct source *file = NULL;
  struct error *err = NULL;
  if (argc != 3)
    return 2;
  if (source_open(argv[2], &(struct source_options){0}, &file, &err) < 0) {
    (void)fprintf(stderr, "%s\n", err->message);
    return 1;
  }
  struct block_cache *cache = block_cache_new(file, 16);
  struct disk_server *server = disk_server_new(&(struct disk_server_options){
      .size = file->size, .read = read_cached, .context = cache, .threads = 4});
  int listener = listen_at(argv[1]);
  if (listener < 0)
    return 1;
  for (;;) {
    pthread_t thread;
    struct client *client = xcalloc(1, sizeof(*client));
    client->server = server;
    client->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client->fd < 0 || pthread_create(&thread, NULL, client_main, client) != 0)
      return 1;
    (void)pthread_detach(thread);
  }
}
