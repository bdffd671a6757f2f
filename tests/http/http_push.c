/* SPDX-License-Identifier: Apache-2.0 */
/* Puts standard input to a URL with http_put.h, --chunk bytes at a time, with a pause of --pause
 * between them, and prints the answer. --offset: so many bytes are announced and not sent. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/http/arguments.h"

static void
read_input(struct buffer *input)
{
  char chunk[65536];
  ssize_t got;
  while ((got = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
    (void)buffer_append(input, chunk, (size_t)got);
}

static int
push(struct http_put *put, const struct arguments *arguments, const struct buffer *input,
     struct error **err)
{
  size_t chunk = arguments->chunk ? arguments->chunk : input->len;
  const struct timespec pause = {.tv_sec = (time_t)(arguments->pause_ms / 1000),
                                 .tv_nsec = (long)(arguments->pause_ms % 1000) * 1000000};
  for (size_t at = 0; at < input->len; at += chunk) {
    size_t len = input->len - at < chunk ? input->len - at : chunk;
    if (http_put_write(put, input->data + at, len, err) < 0)
      return -1;
    (void)nanosleep(&pause, NULL);
  }
  return 0;
}

int
main(int argc, char **argv)
{
  struct arguments arguments;
  arguments_parse(argc, argv, &arguments);
  CLEANUP(http_client_freep)
  struct http_client *client = http_client_new(&arguments.options.http);
  CLEANUP(buffer_clear) struct buffer input = {0};
  read_input(&input);
  const struct http_request request = {.url = arguments.url};
  CLEANUP(http_put_freep) struct http_put *put = NULL;
  CLEANUP(error_freep) struct error *err = NULL;
  struct http_response response = {0};
  if (http_put_open(client, &request, input.len + arguments.offset, &put, &err) < 0 ||
      push(put, &arguments, &input, &err) < 0 || http_put_finish(put, &response, &err) < 0)
    return arguments_failed(err);
  printf("{\"status\": %ld, ", response.status);
  arguments_print_text("url", response.url);
  printf("}\n");
  http_response_clear(&response);
  return 0;
}
