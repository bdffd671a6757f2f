/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_trust.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

/* All CAs of the world take a quarter of a megabyte. */
#define PEM_MAX_BYTES ((size_t)8 << 20)

static int
append_file(struct buffer *pem, const char *path, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "open CA bundle '%s'", path);
  char chunk[16384];
  ssize_t got;
  while ((got = read(fd, chunk, sizeof(chunk))) > 0) {
    if (!buffer_append(pem, chunk, (size_t)got))
      return error_set(err, ERROR_INVALID_ARGUMENT, "CA bundle '%s' is too large", path);
  }
  if (got < 0)
    return error_set_errno(err, errno, "read CA bundle '%s'", path);
  (void)buffer_append_text(pem, "\n");
  return 0;
}

int
http_trust_load(const char *ca_bundle, struct buffer *ret_pem, struct error **err)
{
  struct buffer pem = {.limit = PEM_MAX_BYTES};
  if (append_file(&pem, ca_bundle, err) < 0) {
    buffer_clear(&pem);
    return -1;
  }
  if (!strstr(pem.data, "-----BEGIN ")) {
    buffer_clear(&pem);
    return error_set(err, ERROR_INVALID_ARGUMENT, "CA bundle '%s' holds no PEM certificate",
                     ca_bundle);
  }
  /* A machine without CAs of its own has just these. */
  const char *system = curl_version_info(CURLVERSION_NOW)->cainfo;
  if (system)
    (void)append_file(&pem, system, NULL);
  *ret_pem = pem;
  return 0;
}
