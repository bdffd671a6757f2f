/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/container_disk.h"

#include <string.h>

#include "lib/base/memory.h"
#include "lib/ceph/wire.h"
#include "populator/format/gzip.h"
#include "populator/format/probe.h"
#include "populator/format/xz.h"
#include "populator/format/zstd.h"
#include "populator/source/ahead_stream.h"
#include "populator/source/blob_pieces.h"
#include "populator/source/disk_stream.h"
#include "populator/source/look_stream.h"
#include "populator/source/verified_stream.h"

struct container_disk {
  struct source source;
  struct blob_store *store;
  struct oci_manifest manifest;
  struct disk_search *search;
  bool is_glance;
  struct oci_layer *layer; /* that has the disk */
  struct disk_place place; /* in the archive of that layer */
  struct checksum before;  /* of what stands in front of the disk, in an uncompressed layer */
  struct stream *ready;    /* stands at the disk's first byte; NULL: it was given away */
};

DEFINE_CLEANUP(struct source *, container_disk_close)

/* So little is fetched for the sake of certainty. */
#define LOOK_BYTES ((uint64_t)16 << 20)

static struct container_disk *
disk_of(struct source *source)
{
  return CONTAINER_OF(source, struct container_disk, source);
}

/* ---- layers ------------------------------------------------------------------------------------
 */

static const struct {
  const char *name; /* also that of its stream */
  int (*open)(struct stream *below, struct stream **ret_stream, struct error **err);
  int (*restore)(struct stream *below, const void *state, size_t len, size_t *ret_used,
                 struct stream **ret_stream, struct error **err);
} compressions[] = {[OCI_COMPRESSION_NONE] = {.name = "none"},
                    [OCI_COMPRESSION_GZIP] = {"gzip", gzip_stream_new, gzip_stream_restore},
                    [OCI_COMPRESSION_ZSTD] = {"zstd", zstd_stream_new, zstd_stream_restore},
                    [OCI_COMPRESSION_XZ] = {"xz", xz_stream_new, xz_stream_restore}};

/* Takes `below`, also when it fails. */
static int
decompress(enum oci_compression compression, struct stream *below, struct stream **ret_stream,
           struct error **err)
{
  if (compression != OCI_COMPRESSION_NONE)
    return compressions[compression].open(below, ret_stream, err);
  *ret_stream = below;
  return 0;
}

/* What a media type says is what somebody thought. There are images whose layers were compressed
 * anew, or not at all, under the old type; the digest proves that the bytes are the ones that are
 * meant. What the bytes do not claim is left to the type, for the message about it. */
static enum oci_compression
compression_of(const struct look *look, enum oci_compression said)
{
  struct probe probe;
  probe_bytes(look->bytes, look->len, &probe);
  switch (probe.format) {
  case PROBE_GZIP:
    return OCI_COMPRESSION_GZIP;
  case PROBE_ZSTD:
    return OCI_COMPRESSION_ZSTD;
  case PROBE_XZ:
    return OCI_COMPRESSION_XZ;
  case PROBE_TAR:
    return OCI_COMPRESSION_NONE;
  default:
    return said;
  }
}

/* What is drained to prove the layer: where it has to be decompressed, fetching and hashing go on
 * meanwhile. Takes `verified`. */
static struct stream *
read_ahead(enum oci_compression compression, struct stream *verified)
{
  return compression == OCI_COMPRESSION_NONE ? verified : ahead_stream_new(verified);
}

static int
open_blob(struct container_disk *disk, const struct oci_descriptor *blob,
          struct stream **ret_stream, struct error **err)
{
  if (!disk->is_glance || !disk->store->ops->can_read_at(disk->store, blob))
    return disk->store->ops->stream(disk->store, blob, 0, ret_stream, err);
  *ret_stream = blob_pieces_stream(disk->store, blob);
  return 0;
}

/* From here on the layer's compression is what it is. */
static int
open_layer(struct container_disk *disk, struct oci_layer *layer, struct disk_layer *ret_layer,
           struct error **err)
{
  struct stream *blob, *looked, *proof, *archive;
  struct look look;
  if (open_blob(disk, &layer->blob, &blob, err) < 0 ||
      look_stream_new(blob, BLOB_STREAM_NAME, &look, &looked, err) < 0 ||
      verified_stream_new(looked, &layer->blob, &proof, err) < 0)
    return -1;
  layer->compression = compression_of(&look, layer->compression);
  proof = read_ahead(layer->compression, proof);
  if (decompress(layer->compression, proof, &archive, err) < 0)
    return -1;
  *ret_layer = (struct disk_layer){.archive = archive, .proof = proof};
  return 0;
}

/* Reads a layer up to the disk, if it has it. */
static int
read_layer(struct container_disk *disk, struct oci_layer *layer, struct stream **ret_stream,
           struct error **err)
{
  struct disk_layer opened;
  if (open_layer(disk, layer, &opened, err) < 0 ||
      disk_stream_open(&opened, disk->search, &disk->place, ret_stream, err) < 0)
    return error_wrap(err, "layer %s", layer->blob.digest);
  if (!*ret_stream || layer->compression != OCI_COMPRESSION_NONE)
    return 0;
  disk->before = verified_stream_checksum(opened.proof);
  if (!disk->place.is_sparse && disk->place.offset + disk->place.size > layer->blob.size) {
    stream_close(TAKE(*ret_stream));
    return error_set(err, ERROR_DATA_LOSS, "layer %s ends amid the disk", layer->blob.digest);
  }
  return 0;
}

/* ---- open --------------------------------------------------------------------------------------
 */

static int
find(struct container_disk *disk, struct error **err)
{
  size_t top = disk->manifest.layer_count - 1;
  size_t i = top;
  for (;;) {
    disk->layer = &disk->manifest.layers[i];
    if (read_layer(disk, disk->layer, &disk->ready, err) < 0)
      return -1;
    if (disk->ready)
      return 0;
    enum disk_search_step step;
    if (disk_search_layer_end(disk->search, i == 0, &step, err) < 0)
      return -1;
    if (step == DISK_SEARCH_TOP_LAYER)
      i = top;
    else if (step == DISK_SEARCH_NEXT_LAYER && i > 0)
      i--;
    else if (step == DISK_SEARCH_NEXT_LAYER)
      return error_set(err, ERROR_INTERNAL, "there is no layer below the lowest");
  }
}

/* A layer that is larger than the disk's may well have the disk that is meant. */
static bool
is_worth_a_look(const struct container_disk *disk, const struct oci_layer *layer)
{
  return layer->blob.size <= LOOK_BYTES || layer->blob.size > disk->layer->blob.size;
}

/* Whether a layer below has a file beside the disk; those below one that is not looked at are not
 * either, because what it removes is not known. */
static int
look_below(struct container_disk *disk, struct disk_search *below, bool *ret_has_other,
           struct error **err)
{
  *ret_has_other = false;
  for (size_t i = (size_t)(disk->layer - disk->manifest.layers); i-- > 0;) {
    struct oci_layer *layer = &disk->manifest.layers[i];
    if (!disk_search_go_below(below) || !is_worth_a_look(disk, layer))
      return 0;
    struct disk_layer opened;
    struct disk_place place;
    CLEANUP(stream_closep) struct stream *other = NULL;
    if (open_layer(disk, layer, &opened, err) < 0 ||
        disk_stream_open(&opened, below, &place, &other, err) < 0)
      return error_wrap(err, "layer %s", layer->blob.digest);
    *ret_has_other = disk_search_has_other(below);
    if (*ret_has_other)
      return 0;
  }
  return 0;
}

/* Reads the disk's layer to its end, for all that it removes. */
static int
read_whole(struct container_disk *disk, struct disk_search *whole, struct error **err)
{
  struct disk_layer opened;
  struct disk_place place;
  CLEANUP(stream_closep) struct stream *stream = NULL;
  if (open_layer(disk, disk->layer, &opened, err) < 0 ||
      disk_stream_open(&opened, whole, &place, &stream, err) < 0)
    return error_wrap(err, "layer %s", disk->layer->blob.digest);
  char buf[16384];
  ssize_t got = 1;
  while (stream && got > 0)
    got = stream_read(stream, buf, sizeof(buf), err);
  return got < 0 ? error_wrap(err, "layer %s", disk->layer->blob.digest) : 0;
}

/* The disk must be the one file at its place. A mark that removes another one may stand behind it
 * in its layer, so before somebody is told of two disks, that is read as a whole; a glance leaves
 * this to the import. */
static int
check_alone(struct container_disk *disk, struct error **err)
{
  if (disk_search_is_exact(disk->search))
    return 0;
  bool has_other;
  CLEANUP(disk_search_freep) struct disk_search *below = disk_search_below(disk->search, true);
  if (look_below(disk, below, &has_other, err) < 0)
    return -1;
  if (!has_other || (disk->is_glance && disk->layer->blob.size > LOOK_BYTES))
    return 0;
  stream_close(TAKE(disk->ready)); /* it is opened anew, if this ends well */
  CLEANUP(disk_search_freep) struct disk_search *whole = disk_search_below(disk->search, false);
  if (read_whole(disk, whole, err) < 0)
    return -1;
  CLEANUP(disk_search_freep) struct disk_search *certain = disk_search_below(whole, true);
  if (look_below(disk, certain, &has_other, err) < 0)
    return -1;
  return has_other ? disk_search_refuse(disk->search, certain, err) : 0;
}

static void
describe(struct container_disk *disk)
{
  struct source *source = &disk->source;
  struct source_container *container = source->container;
  container->path = xstrdup(disk_search_path(disk->search));
  container->layer = xstrdup(disk->layer->blob.digest);
  container->layer_size = disk->layer->blob.size;
  container->layer_compression = compressions[disk->layer->compression].name;
  source->size = disk->place.size;
  source->identity = xasprintf("%s/%s", container->digest, container->path);
  source->can_seek = disk->layer->compression == OCI_COMPRESSION_NONE && !disk->place.is_sparse &&
                     disk->store->ops->can_read_at(disk->store, &disk->layer->blob);
  if (source->can_seek) /* then it will hardly be read front to back */
    stream_close(TAKE(disk->ready));
}

void
container_disk_image_clear(struct container_disk_image *image)
{
  blob_store_close(image->store);
  oci_manifest_clear(&image->manifest);
  string_map_clear(&image->env);
  free(image->digest);
  free(image->platform);
  *image = (struct container_disk_image){0};
}

int
container_disk_open(const struct source_ops *ops, const char *label,
                    const struct source_options *options, struct container_disk_image *image,
                    struct source **ret_source, struct error **err)
{
  struct container_disk *disk = xcalloc(1, sizeof(*disk));
  CLEANUP(container_disk_closep) struct source *source = &disk->source;
  source->ops = ops;
  source->label = xstrdup(label);
  source->env = image->env;
  source->container = xcalloc(1, sizeof(*source->container));
  source->container->digest = image->digest;
  source->container->platform = image->platform;
  disk->is_glance = options->is_glance;
  disk->store = TAKE(image->store);
  disk->manifest = image->manifest;
  *image = (struct container_disk_image){0};
  disk->search = disk_search_new(options->path_in_image);
  if (find(disk, err) < 0 || check_alone(disk, err) < 0)
    return error_wrap(err, "%s", label);
  describe(disk);
  *ret_source = TAKE(source);
  return 0;
}

void
container_disk_cancel(struct source *source)
{
  struct blob_store *store = disk_of(source)->store;
  if (store->ops->cancel)
    store->ops->cancel(store);
}

void
container_disk_close(struct source *source)
{
  if (!source)
    return;
  struct container_disk *disk = disk_of(source);
  stream_close(disk->ready);
  disk_search_free(disk->search);
  oci_manifest_clear(&disk->manifest);
  blob_store_close(disk->store);
  source_clear(source);
  free(disk);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

int
container_disk_stream(struct source *source, uint64_t offset, struct stream **ret_stream,
                      struct error **err)
{
  struct container_disk *disk = disk_of(source);
  if (offset > 0)
    return error_set(err, ERROR_UNIMPLEMENTED, "%s: cannot begin amid the disk", source->label);
  if (disk->ready) {
    *ret_stream = TAKE(disk->ready);
    return 0;
  }
  CLEANUP(stream_closep) struct stream *stream = NULL;
  disk_search_read_again(disk->search);
  if (read_layer(disk, disk->layer, &stream, err) < 0)
    return error_wrap(err, "%s", source->label);
  if (!stream || disk->place.size != source->size)
    return error_set(err, ERROR_DATA_LOSS, "%s: a layer has changed", source->label);
  *ret_stream = TAKE(stream);
  return 0;
}

int
container_disk_read_at(struct source *source, void *buf, size_t len, uint64_t offset,
                       struct error **err)
{
  struct container_disk *disk = disk_of(source);
  return disk->store->ops->read_at(disk->store, &disk->layer->blob, buf, len,
                                   disk->place.offset + offset, err);
}

/* ---- going on in another process ---------------------------------------------------------------
 */

/* Takes the name that stream_save() puts in front of each state. */
static void
enter(struct wire_reader *state, const char *name)
{
  size_t len = strlen(name) + 1;
  if (state->failed || state->left < len || memcmp(state->at, name, len) != 0) {
    state->failed = true;
    return;
  }
  state->at += len;
  state->left -= len;
}

static int
restore_unpacked(enum oci_compression compression, struct stream *below, struct wire_reader *state,
                 struct stream **ret_stream, struct error **err)
{
  size_t used;
  enter(state, compressions[compression].name);
  size_t left = state->failed ? 0 : state->left;
  if (compressions[compression].restore(below, state->at, left, &used, ret_stream, err) < 0)
    return -1;
  state->at += used;
  state->left -= used;
  return 0;
}

static int
restore_ahead(struct stream *below, struct wire_reader *state, struct stream **ret_stream,
              struct error **err)
{
  size_t used;
  enter(state, AHEAD_STREAM_NAME);
  if (ahead_stream_restore(below, state->at, state->failed ? 0 : state->left, &used, ret_stream,
                           err) < 0)
    return -1;
  state->at += used;
  state->left -= used;
  return 0;
}

static int
restore_layer(struct container_disk *disk, struct wire_reader *state, struct disk_layer *ret_layer,
              struct error **err)
{
  const struct oci_layer *layer = disk->layer;
  enter(state, BLOB_STREAM_NAME);
  uint64_t position = wire_get_u64(state);
  enter(state, "verified");
  if (state->failed || position > layer->blob.size)
    return error_set(err, ERROR_DATA_LOSS, "the saved state of a stream is not one");
  struct stream *blob, *verified, *proof, *archive;
  if (disk->store->ops->stream(disk->store, &layer->blob, position, &blob, err) < 0 ||
      verified_stream_restore(blob, &layer->blob, state, &verified, err) < 0)
    return -1;
  proof = archive = verified;
  if (layer->compression != OCI_COMPRESSION_NONE &&
      (restore_ahead(verified, state, &proof, err) < 0 ||
       restore_unpacked(layer->compression, proof, state, &archive, err) < 0))
    return -1;
  *ret_layer = (struct disk_layer){.archive = archive, .proof = proof};
  return 0;
}

int
container_disk_restore(struct source *source, const void *state, size_t len, size_t *ret_used,
                       struct stream **ret_stream, struct error **err)
{
  struct container_disk *disk = disk_of(source);
  struct wire_reader reader = {.at = state, .left = len};
  struct disk_layer layer;
  stream_close(TAKE(disk->ready));
  disk_search_found(disk->search, source->container->path);
  if (restore_layer(disk, &reader, &layer, err) < 0)
    return error_wrap(err, "%s", source->label);
  enter(&reader, DISK_STREAM_NAME);
  if (disk_stream_restore(&layer, disk->search, &reader, ret_stream, err) < 0)
    return error_wrap(err, "%s", source->label);
  *ret_used = len - reader.left;
  return 0;
}

/* ---- proving a layer that is read anywhere -----------------------------------------------------
 */

int
container_disk_digest_begin(struct source *source, struct checksum *ret_checksum,
                            struct error **err)
{
  (void)err;
  *ret_checksum = disk_of(source)->before;
  return 0;
}

int
container_disk_digest_end(struct source *source, const struct checksum *checksum,
                          struct error **err)
{
  struct container_disk *disk = disk_of(source);
  const struct oci_descriptor *blob = &disk->layer->blob;
  uint64_t end = disk->place.offset + disk->place.size;
  struct stream *below, *proof;
  disk_search_found(disk->search, source->container->path);
  if (disk->store->ops->stream(disk->store, blob, end, &below, err) < 0 ||
      verified_stream_resume(below, blob, end, checksum, &proof, err) < 0)
    return error_wrap(err, "%s", source->label);
  const struct disk_layer layer = {.archive = proof, .proof = proof};
  if (disk_stream_check_rest(&layer, disk->place.size, disk->search, err) < 0)
    return error_wrap(err, "%s: layer %s", source->label, blob->digest);
  return 0;
}
