/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/data_rbd.h"

#include <rados/librados.h>
#include <rbd/librbd.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lib/base/memory.h"

#define IN_FLIGHT 16

/* What images are made with by default, here and by all who are compared. */
#define FEATURES                                                                                   \
  (RBD_FEATURE_LAYERING | RBD_FEATURE_EXCLUSIVE_LOCK | RBD_FEATURE_OBJECT_MAP |                    \
   RBD_FEATURE_FAST_DIFF | RBD_FEATURE_DEEP_FLATTEN)

struct data_rbd {
  rados_t rados;
  rados_ioctx_t ioctx;
  rbd_image_t image;
  sem_t room; /* for requests */
  atomic_int failure;
};

struct request {
  struct data_rbd *rbd;
  char *buffer; /* of a read */
};

static int
connect_to(struct data_rbd *self, const struct data_place *place, struct error **err)
{
  int r = rados_create2(&self->rados, "ceph", "client.admin", 0);
  if (r < 0)
    return error_set_errno(err, -r, "make a client");
  /* Nothing between the data and the OSD: no cache, no copy. */
  if ((r = rados_conf_read_file(self->rados, place->conf_file)) < 0 ||
      (r = rados_conf_set(self->rados, "admin_socket", "")) < 0 ||
      (r = rados_conf_set(self->rados, "rbd_cache", "false")) < 0 ||
      (r = rados_conf_set(self->rados, "rbd_disable_zero_copy_writes", "false")) < 0 ||
      (r = rados_connect(self->rados)) < 0 ||
      (r = rados_ioctx_create(self->rados, place->pool, &self->ioctx)) < 0)
    return error_set_errno(err, -r, "open pool '%s'", place->pool);
  return 0;
}

static void
disconnect(struct data_rbd *self)
{
  if (self->image)
    (void)rbd_close(self->image);
  if (self->ioctx)
    rados_ioctx_destroy(self->ioctx);
  if (self->rados)
    rados_shutdown(self->rados);
}

static int
open_image(struct data_rbd *self, const struct data_place *place, uint64_t create_bytes,
           struct error **err)
{
  int r = 0;
  if (create_bytes > 0) {
    int order = 0;
    r = rbd_create2(self->ioctx, place->image, create_bytes, FEATURES, &order);
  }
  if (r == 0)
    r = rbd_open(self->ioctx, place->image, &self->image, NULL);
  return r < 0 ? error_set_errno(err, -r, "open image '%s/%s'", place->pool, place->image) : 0;
}

static void
on_complete(rbd_completion_t completion, void *arg)
{
  struct request *request = arg;
  int r = (int)rbd_aio_get_return_value(completion);
  rbd_aio_release(completion);
  if (r < 0)
    atomic_store(&request->rbd->failure, r);
  (void)sem_post(&request->rbd->room);
  free(request->buffer);
  free(request);
}

static void
start(struct data_rbd *self, const struct data_extent *extent, const char *data)
{
  struct request *request = xcalloc(1, sizeof(*request));
  rbd_completion_t completion;
  request->rbd = self;
  if (!data)
    request->buffer = xcalloc(1, extent->len);
  (void)sem_wait(&self->room);
  int r = rbd_aio_create_completion(request, on_complete, &completion);
  if (r == 0)
    r = data ? rbd_aio_write(self->image, extent->offset, extent->len, data, completion)
             : rbd_aio_read(self->image, extent->offset, extent->len, request->buffer, completion);
  if (r < 0)
    atomic_store(&self->failure, r);
}

static int
transfer(const struct data_place *place, const struct data_file *file, bool is_write,
         struct error **err)
{
  struct data_rbd self = {0};
  (void)sem_init(&self.room, 0, IN_FLIGHT);
  int r = connect_to(&self, place, err);
  if (r == 0)
    r = open_image(&self, place, is_write ? file->size : 0, err);
  for (size_t i = 0; r == 0 && i < file->count && atomic_load(&self.failure) == 0; i++)
    start(&self, &file->extents[i], is_write ? file->bytes + file->extents[i].offset : NULL);
  for (int i = 0; r == 0 && i < IN_FLIGHT; i++)
    (void)sem_wait(&self.room);
  disconnect(&self);
  (void)sem_destroy(&self.room);
  if (r == 0 && atomic_load(&self.failure) < 0)
    r = error_set_errno(err, -atomic_load(&self.failure), "transfer image '%s/%s'", place->pool,
                        place->image);
  return r;
}

int
data_rbd_write(const struct data_place *place, const struct data_file *file, struct error **err)
{
  return transfer(place, file, true, err);
}

int
data_rbd_read(const struct data_place *place, const struct data_file *file, struct error **err)
{
  return transfer(place, file, false, err);
}
