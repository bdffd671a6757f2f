/* SPDX-License-Identifier: Apache-2.0 */
/* Puts standard input into an object, s3://bucket/key, by a multipart upload: parts of --chunk
 * bytes, the last first. --abort takes it back at the end; --resume ID goes on with one, sending
 * only the parts that are missing; --open leaves it as it is. Prints the upload id and the parts
 * sent. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/memory.h"
#include "lib/http/s3_upload.h"
#include "tests/http/arguments.h"

static void
read_input(struct buffer *input)
{
  char chunk[65536];
  ssize_t got;
  while ((got = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
    (void)buffer_append(input, chunk, (size_t)got);
}

/* --open stops after the first part that was sent. */
static int
send_parts(struct s3_upload *upload, const struct arguments *arguments, const struct buffer *input,
           unsigned *sent, struct error **err)
{
  size_t chunk = arguments->chunk;
  unsigned count = (unsigned)((input->len + chunk - 1) / chunk);
  for (unsigned number = count; number > 0; number--) {
    size_t at = (number - 1) * chunk;
    size_t len = input->len - at < chunk ? input->len - at : chunk;
    if (s3_upload_part_len(upload, number) == len)
      continue;
    if (s3_upload_part(upload, number, input->data + at, len, err) < 0)
      return -1;
    (*sent)++;
    if (arguments->is_open_only)
      return 0;
  }
  return 0;
}

static int
run(struct http_client *client, const struct arguments *arguments, const char *bucket,
    const char *key, struct error **err)
{
  CLEANUP(s3_upload_freep) struct s3_upload *upload = NULL;
  const struct s3_options *s3 = &arguments->options.s3;
  int r = arguments->resume
              ? s3_upload_open(client, s3, bucket, key, arguments->resume, &upload, err)
              : s3_upload_create(client, s3, bucket, key, &upload, err);
  if (r < 0)
    return -1;
  struct buffer input = {0};
  read_input(&input);
  unsigned sent = 0;
  r = send_parts(upload, arguments, &input, &sent, err);
  buffer_clear(&input);
  if (r == 0 && arguments->is_abort)
    r = s3_upload_abort(upload, err);
  else if (r == 0 && !arguments->is_open_only)
    r = s3_upload_complete(upload, err);
  if (r < 0)
    return -1;
  printf("{");
  arguments_print_text("upload", s3_upload_id(upload));
  printf(", \"sent\": %u}\n", sent);
  return 0;
}

int
main(int argc, char **argv)
{
  struct arguments arguments;
  arguments_parse(argc, argv, &arguments);
  const char *bucket = arguments.url + strlen("s3://");
  const char *slash = strchr(bucket, '/');
  if (!slash)
    return 2;
  CLEANUP(freep) char *name = xstrndup(bucket, (size_t)(slash - bucket));
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&arguments.options.http);
  CLEANUP(error_freep) struct error *err = NULL;
  return run(client, &arguments, name, slash + 1, &err) < 0 ? arguments_failed(err) : 0;
}
