/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/registry/auth_file.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "populator/registry/document.h"

/* A Kubernetes secret can be no larger. */
#define FILE_BYTES_MAX ((size_t)1 << 20)

void
credentials_clear(struct credentials *credentials)
{
  char **const members[] = {&credentials->user, &credentials->password,
                            &credentials->identity_token, &credentials->registry_token};
  for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
    if (*members[i])
      explicit_bzero(*members[i], strlen(*members[i]));
    free(*members[i]);
    *members[i] = NULL;
  }
}

/* ---- which entry -------------------------------------------------------------------------------
 */

/* Older programs wrote URLs: "https://host/v1/"; docker still does, of its own registry. */
static char *
clean_key(const char *key)
{
  static const char *const schemes[] = {"https://", "http://"};
  bool is_url = false;
  for (size_t i = 0; i < 2; i++) {
    if (!is_url && text_starts_with(key, schemes[i])) {
      key += strlen(schemes[i]);
      is_url = true;
    }
  }
  CLEANUP(freep) char *name = xstrndup(key, is_url ? strcspn(key, "/") : strlen(key));
  return xstrdup(strcmp(name, REFERENCE_HUB_INDEX) == 0 ? REFERENCE_HUB : name);
}

/* How much of the image's name the key covers: 0 nothing, else its length. */
static size_t
key_fit(const char *key, const struct reference *reference)
{
  CLEANUP(freep) char *clean = clean_key(key);
  CLEANUP(freep) char *image = xasprintf("%s/%s", reference->host, reference->repository);
  size_t len = strlen(clean);
  while (len > 0 && clean[len - 1] == '/')
    len--;
  return strncmp(image, clean, len) == 0 && (image[len] == '/' || !image[len]) ? len : 0;
}

static struct json_object *
best_entry(struct json_object *auths, const struct reference *reference)
{
  struct json_object *best = NULL;
  size_t best_fit = 0;
  json_object_object_foreach(auths, key, value)
  {
    size_t fit = key_fit(key, reference);
    if (fit > best_fit) {
      best = value;
      best_fit = fit;
    }
  }
  return best;
}

/* ---- what it holds -----------------------------------------------------------------------------
 */

static int
base64_value(char c)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = c ? strchr(digits, c) : NULL;
  return at ? (int)(at - digits) : -1;
}

/* NULL when it is not base64. To be freed. */
static char *
base64_decode(const char *text)
{
  CLEANUP(freep) char *decoded = xcalloc(strlen(text) + 1, 1);
  size_t len = 0;
  unsigned bits = 0;
  unsigned value = 0;
  for (; *text && *text != '='; text++) {
    int digit = base64_value(*text);
    if (digit < 0)
      return NULL;
    value = (value << 6 | (unsigned)digit) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      decoded[len++] = (char)(value >> bits);
    }
  }
  return text[strspn(text, "=")] ? NULL : TAKE(decoded);
}

/* "user:password" in base64. */
static int
decode_auth(const char *auth, struct credentials *credentials, struct error **err)
{
  CLEANUP(freep) char *decoded = base64_decode(auth);
  char *colon = decoded ? strchr(decoded, ':') : NULL;
  if (!colon)
    return error_set(err, ERROR_INVALID_ARGUMENT, "'auth' is not user:password in base64");
  credentials->user = xstrndup(decoded, (size_t)(colon - decoded));
  credentials->password = xstrdup(colon + 1);
  explicit_bzero(decoded, strlen(decoded));
  return 0;
}

static int
read_entry(struct json_object *entry, struct credentials *credentials, struct error **err)
{
  const char *auth, *user, *password, *identity, *token;
  if (document_string(entry, "auth", &auth, err) < 0 ||
      document_string(entry, "username", &user, err) < 0 ||
      document_string(entry, "password", &password, err) < 0 ||
      document_string(entry, "identitytoken", &identity, err) < 0 ||
      document_string(entry, "registrytoken", &token, err) < 0)
    return -1;
  credentials->identity_token = identity && *identity ? xstrdup(identity) : NULL;
  credentials->registry_token = token && *token ? xstrdup(token) : NULL;
  if (auth && *auth)
    return decode_auth(auth, credentials, err);
  if (user && *user && password) {
    credentials->user = xstrdup(user);
    credentials->password = xstrdup(password);
  }
  return 0;
}

int
auth_file_parse(const void *data, size_t len, const struct reference *reference,
                struct credentials *ret_credentials, struct error **err)
{
  CLEANUP(document_freep) struct json_object *document = NULL;
  struct json_object *auths;
  if (document_parse(data, len, &document, err) < 0 ||
      document_object(document, "auths", &auths, err) < 0)
    return -1;
  struct json_object *entry = auths ? best_entry(auths, reference) : NULL;
  CLEANUP(credentials_clear) struct credentials credentials = {0};
  if (entry && !json_object_is_type(entry, json_type_object))
    return error_set(err, ERROR_INVALID_ARGUMENT, "an entry of 'auths' is not an object");
  if (entry && read_entry(entry, &credentials, err) < 0)
    return -1;
  *ret_credentials = credentials;
  credentials = (struct credentials){0};
  return 0;
}

int
auth_file_read(const char *path, const struct reference *reference,
               struct credentials *ret_credentials, struct error **err)
{
  CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "open '%s'", path);
  CLEANUP(buffer_clear) struct buffer content = {.limit = FILE_BYTES_MAX};
  char piece[4096];
  ssize_t got;
  while ((got = read(fd, piece, sizeof(piece))) > 0) {
    if (!buffer_append(&content, piece, (size_t)got))
      return error_set(err, ERROR_INVALID_ARGUMENT, "'%s' is too large", path);
  }
  if (got < 0)
    return error_set_errno(err, errno, "read '%s'", path);
  int r = auth_file_parse(content.data, content.len, reference, ret_credentials, err);
  return r < 0 ? error_wrap(err, "'%s'", path) : 0;
}
