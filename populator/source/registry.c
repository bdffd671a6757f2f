/* SPDX-License-Identifier: Apache-2.0 */
/* Disks in container images of a registry, docker://HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]. */
#include "populator/source/registry.h"

#include "lib/base/memory.h"
#include "populator/registry/oci_platform.h"
#include "populator/registry/registry_blob.h"
#include "populator/registry/registry_client.h"
#include "populator/source/container_disk.h"
#include "populator/source/sources.h"

/* An index may name further ones; nobody needs more. */
#define INDEX_DEPTH_MAX 3

struct registry_store {
  struct blob_store store;
  struct registry_client *client;
};

static struct registry_client *
client_of(struct blob_store *store)
{
  return CONTAINER_OF(store, struct registry_store, store)->client;
}

/* ---- the store ---------------------------------------------------------------------------------
 */

static int
store_stream(struct blob_store *store, const struct oci_descriptor *blob, uint64_t offset,
             struct stream **ret_stream, struct error **err)
{
  return registry_blob_stream(client_of(store), blob, offset, ret_stream, err);
}

static bool
store_can_read_at(struct blob_store *store, const struct oci_descriptor *blob)
{
  return registry_blob_can_read_at(client_of(store), blob);
}

static int
store_read_at(struct blob_store *store, const struct oci_descriptor *blob, void *buf, size_t len,
              uint64_t offset, struct error **err)
{
  return registry_blob_read_at(client_of(store), blob, buf, len, offset, err);
}

static void
store_cancel(struct blob_store *store)
{
  registry_auth_cancel(registry_client_auth(client_of(store)));
}

static void
store_close(struct blob_store *store)
{
  registry_client_close(client_of(store));
  free(CONTAINER_OF(store, struct registry_store, store));
}

static const struct blob_store_ops registry_store_ops = {
    .stream = store_stream,
    .can_read_at = store_can_read_at,
    .read_at = store_read_at,
    .cancel = store_cancel,
    .close = store_close,
};

/* Takes the client. */
static struct blob_store *
store_new(struct registry_client *client)
{
  struct registry_store *store = xcalloc(1, sizeof(*store));
  store->store.ops = &registry_store_ops;
  store->client = client;
  return &store->store;
}

/* ---- from the reference to the layers ----------------------------------------------------------
 */

/* The manifest for the platform, through as many indexes as need be. *ret_is_chosen: there was a
 * choice. */
static int
find_manifest(struct registry_client *client, const char *version,
              const struct oci_platform *platform, struct registry_document *ret_document,
              bool *ret_is_chosen, struct error **err)
{
  CLEANUP(freep) char *next = xstrdup(version);
  *ret_is_chosen = false;
  for (unsigned depth = 0; depth <= INDEX_DEPTH_MAX; depth++) {
    CLEANUP(registry_document_clear) struct registry_document document = {0};
    CLEANUP(oci_index_clear) struct oci_index index = {0};
    const struct oci_choice *choice;
    bool is_index;
    if (registry_client_manifest(client, next, &document, err) < 0 ||
        oci_document_is_index(document.body.data, document.body.len, document.media_type, &is_index,
                              err) < 0)
      return -1;
    if (!is_index) {
      *ret_document = document;
      document = (struct registry_document){0};
      return 0;
    }
    if (oci_index_parse(document.body.data, document.body.len, &index, err) < 0 ||
        oci_platform_choose(platform, &index, &choice, err) < 0)
      return -1;
    free(next);
    next = xstrdup(choice->manifest.digest);
    *ret_is_chosen = true;
  }
  return error_set(err, ERROR_INVALID_ARGUMENT, "the indexes of the image lead on and on");
}

/* What the image was made for matters only where the user asks for something: disks are often made
 * on machines other than those they are for. */
static int
take_config(struct registry_client *client, const struct oci_platform *wanted,
            struct container_disk_image *image, struct error **err)
{
  CLEANUP(buffer_clear) struct buffer body = {0};
  CLEANUP(oci_config_clear) struct oci_config config = {0};
  if (registry_client_blob(client, &image->manifest.config, &body, err) < 0 ||
      oci_config_parse(body.data, body.len, &config, err) < 0)
    return -1;
  if (wanted && !oci_platform_fits_config(wanted, &config))
    return error_set(err, ERROR_NOT_FOUND, "the image is not there for %s; it is for %s only",
                     wanted->architecture, config.architecture);
  image->platform = oci_platform_of_config(&config);
  image->env = config.env;
  config.env = (struct string_map){0};
  return 0;
}

static int
describe_image(struct registry_client *client, const char *version,
               const struct source_options *options, struct container_disk_image *image,
               struct error **err)
{
  CLEANUP(oci_platform_clear) struct oci_platform platform = {0};
  CLEANUP(registry_document_clear) struct registry_document document = {0};
  bool is_chosen;
  if (oci_platform_parse(options->platform, &platform, err) < 0 ||
      find_manifest(client, version, &platform, &document, &is_chosen, err) < 0 ||
      oci_manifest_parse(document.body.data, document.body.len, &image->manifest, err) < 0)
    return -1;
  image->digest = TAKE(document.digest);
  return take_config(client, options->platform && !is_chosen ? &platform : NULL, image, err);
}

/* ---- the source --------------------------------------------------------------------------------
 */

static int
open_client(const char *url, const struct source_options *options, struct reference *ret_reference,
            struct registry_client **ret_client, struct error **err)
{
  const struct registry_options registry = {
      .http = options->http,
      .insecure = options->registry_insecure,
      .auth_file = options->registry_auth_file,
  };
  CLEANUP(reference_clear) struct reference reference = {0};
  if (reference_parse(url, &reference, err) < 0)
    return -1;
  if (registry_client_open(&reference, &registry, "pull", ret_client, err) < 0)
    return error_wrap(err, "%s", url);
  *ret_reference = reference;
  reference = (struct reference){0};
  return 0;
}

static int
registry_open(const char *url, const struct source_options *options, struct source **ret_source,
              struct error **err)
{
  CLEANUP(reference_clear) struct reference reference = {0};
  struct registry_client *client;
  if (open_client(url, options, &reference, &client, err) < 0)
    return -1;
  CLEANUP(container_disk_image_clear)
  struct container_disk_image image = {.store = store_new(client)};
  if (describe_image(client, reference_version(&reference), options, &image, err) < 0)
    return error_wrap(err, "%s", url);
  return container_disk_open(&source_registry_ops, url, options, &image, ret_source, err);
}

const struct source_ops source_registry_ops = {
    .scheme = "docker:",
    .open = registry_open,
    CONTAINER_DISK_OPS,
};

int
registry_resolve(const char *url, const struct source_options *options, char **ret_digest,
                 struct error **err)
{
  CLEANUP(reference_clear) struct reference reference = {0};
  CLEANUP(registry_client_closep) struct registry_client *client = NULL;
  if (open_client(url, options, &reference, &client, err) < 0)
    return -1;
  if (registry_client_resolve(client, reference_version(&reference), ret_digest, err) < 0)
    return error_wrap(err, "%s", url);
  return 0;
}

int
registry_tags(const char *url, const struct source_options *options, char ***ret_tags,
              struct error **err)
{
  CLEANUP(reference_clear) struct reference reference = {0};
  CLEANUP(registry_client_closep) struct registry_client *client = NULL;
  if (open_client(url, options, &reference, &client, err) < 0)
    return -1;
  if (registry_client_tags(client, ret_tags, err) < 0)
    return error_wrap(err, "%s", url);
  return 0;
}
