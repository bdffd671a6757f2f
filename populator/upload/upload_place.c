/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/upload/upload_place.h"

#include <inttypes.h>
#include <strings.h>

#include "populator/controllers/upload_record.h"

#define SHA512 "sha512:"

static const char *
spec_checksum(const struct kube_object *image)
{
  return json_text(image->json, "spec", "checksum");
}

const char *
upload_place_checksum(const struct upload_request *request, const struct kube_object *image)
{
  struct upload_record upload;
  upload_record_look(image, &upload);
  const char *promised = request->checksum ? request->checksum : upload.checksum;
  return spec_checksum(image) ? spec_checksum(image) : promised;
}

/* What goes on may promise its checksum later than at its beginning, but no other one. Of what was
 * imported by then there is a sha256. */
static int
keep_promise(struct populator *populator, const struct upload_request *request,
             const struct kube_object *image, const struct upload_record *upload,
             struct error **err)
{
  const char *promised = request->checksum;
  if (!promised || (upload->checksum && strcasecmp(promised, upload->checksum) == 0))
    return 0;
  if (upload->checksum)
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "X-Checksum is another one than this upload began with, %.200s: go on with "
                     "that, or begin anew at 0",
                     upload->checksum);
  if (upload->into && strncasecmp(promised, SHA512, sizeof(SHA512) - 1) == 0 &&
      !spec_checksum(image))
    return error_set(
        err, ERROR_INVALID_ARGUMENT,
        "X-Checksum: sha512 must be promised with the first piece, sha256 can be later: "
        "promise that, or begin anew at 0");
  return upload_record_promise(populator, request->kind, image, promised, err);
}

int
upload_place_check(struct populator *populator, const struct upload_request *request,
                   const struct kube_object *image, uint64_t *ret_offset, struct error **err)
{
  struct upload_record upload;
  upload_record_look(image, &upload);
  *ret_offset = upload.offset;
  if (upload_record_is_complete(image))
    return error_set(err, ERROR_FAILED_PRECONDITION, "all of it has been uploaded already");
  if (request->first == 0)
    return 0;
  if ((upload.handle || upload.into) && request->total == upload.size &&
      request->first == upload.offset)
    return keep_promise(populator, request, image, &upload, err);
  return error_set(err, ERROR_FAILED_PRECONDITION,
                   "Content-Range: %" PRIu64 " bytes of %" PRIu64
                   " are here: go on from there, or begin anew at 0",
                   upload.offset, upload.size);
}
