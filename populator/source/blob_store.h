/* SPDX-License-Identifier: Apache-2.0 */
/* Where the layers of an image lie: a registry, or an archive on disk. */
#ifndef POPULATOR_SOURCE_BLOB_STORE_H
#define POPULATOR_SOURCE_BLOB_STORE_H

#include "populator/registry/oci_manifest.h"
#include "populator/source/stream.h"

/* What the streams of a store are called. */
#define BLOB_STREAM_NAME "blob"

struct blob_store;

struct blob_store_ops {
  /* The bytes of a blob as they lie there, from offset on, which may be its end. The stream can be
   * saved, as its position in 64 bits. */
  int (*stream)(struct blob_store *store, const struct oci_descriptor *blob, uint64_t offset,
                struct stream **ret_stream, struct error **err);
  /* Whether read_at() works for this one. */
  bool (*can_read_at)(struct blob_store *store, const struct oci_descriptor *blob);
  /* Exactly len bytes from offset on, which lie inside the blob. Any number of threads. */
  int (*read_at)(struct blob_store *store, const struct oci_descriptor *blob, void *buf, size_t len,
                 uint64_t offset, struct error **err);
  /* See source.h; NULL where nothing takes long. */
  void (*cancel)(struct blob_store *store);
  void (*close)(struct blob_store *store);
};

/* First member of every store. */
struct blob_store {
  const struct blob_store_ops *ops;
};

static inline void
blob_store_close(struct blob_store *store)
{
  if (store)
    store->ops->close(store);
}
DEFINE_CLEANUP(struct blob_store *, blob_store_close)

#endif
