/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/http/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

static void
usage(const char *what)
{
  (void)fprintf(stderr, "bad argument: %s\n", what);
  exit(2);
}

static uint64_t
number(const char *text)
{
  uint64_t value;
  if (text_to_u64(text, 10, &value) < 0)
    usage(text);
  return value;
}

static bool
parse_flag(const char *name, struct arguments *arguments)
{
  const struct {
    const char *name;
    bool *member;
  } flags[] = {
      {"--stream", &arguments->is_stream},
      {"--open", &arguments->is_open_only},
      {"--abort", &arguments->is_abort},
      {"--allow-local", &arguments->options.http.allow_local_addresses},
      {"--path-style", &arguments->options.s3.path_style},
      {"--host-style", &arguments->options.s3.host_style},
  };
  for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
    if (strcmp(name, flags[i].name) == 0)
      return *flags[i].member = true;
  }
  return false;
}

static bool
parse_number(const char *name, const char *value, struct arguments *arguments)
{
  const struct {
    const char *name;
    uint64_t *member;
  } numbers[] = {
      {"--offset", &arguments->offset},     {"--chunk", &arguments->chunk},
      {"--threads", &arguments->threads},   {"--read", &arguments->read_bytes},
      {"--pause", &arguments->pause_ms},    {"--cancel", &arguments->cancel_ms},
      {"--max-body", &arguments->max_body},
  };
  const struct {
    const char *name;
    unsigned *member;
  } settings[] = {
      {"--retries", &arguments->options.http.retries},
      {"--retry-first-ms", &arguments->options.http.retry_first_ms},
      {"--stall", &arguments->options.http.stall_s},
  };
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    if (strcmp(name, numbers[i].name) == 0) {
      *numbers[i].member = number(value);
      return true;
    }
  }
  for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
    if (strcmp(name, settings[i].name) == 0) {
      *settings[i].member = (unsigned)number(value);
      return true;
    }
  }
  return false;
}

static bool
parse_text(const char *name, const char *value, struct arguments *arguments)
{
  struct source_options *options = &arguments->options;
  const struct {
    const char *name;
    const char **member;
  } texts[] = {
      {"--ca-bundle", &options->http.ca_bundle},
      {"--proxy", &options->http.proxy},
      {"--user", &options->http.user},
      {"--password", &options->http.password},
      {"--bearer", &options->http.bearer},
      {"--endpoint", &options->s3.endpoint},
      {"--region", &options->s3.region},
      {"--access-key", &options->s3.access_key},
      {"--secret-key", &options->s3.secret_key},
      {"--session-token", &options->s3.session_token},
      {"--resume", &arguments->resume},
      {"--method", &arguments->method},
      {"--body", &arguments->body},
  };
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    if (strcmp(name, texts[i].name) == 0) {
      *texts[i].member = value;
      return true;
    }
  }
  return false;
}

static bool
parse_header(const char *name, const char *value, struct arguments *arguments)
{
  if (strcmp(name, "--header") != 0)
    return false;
  for (size_t i = 0; i < ARGUMENTS_HEADERS_MAX; i++) {
    if (!arguments->headers[i]) {
      arguments->headers[i] = value;
      return true;
    }
  }
  return false;
}

void
arguments_parse(int argc, char **argv, struct arguments *ret_arguments)
{
  struct arguments *arguments = ret_arguments;
  *arguments = (struct arguments){.chunk = 1 << 20, .threads = 1, .read_bytes = 1 << 16};
  for (int i = 1; i < argc; i++) {
    if (!text_starts_with(argv[i], "--") && !arguments->url) {
      arguments->url = argv[i];
      continue;
    }
    if (parse_flag(argv[i], arguments))
      continue;
    if (i + 1 >= argc || !(parse_number(argv[i], argv[i + 1], arguments) ||
                           parse_text(argv[i], argv[i + 1], arguments) ||
                           parse_header(argv[i], argv[i + 1], arguments)))
      usage(argv[i]);
    i++;
  }
  if (!arguments->url || arguments->chunk == 0 || arguments->threads == 0 ||
      arguments->read_bytes == 0)
    usage("URL");
  arguments->options.http.headers = arguments->headers;
}

void
arguments_print_text(const char *name, const char *value)
{
  if (!value) {
    printf("\"%s\": null", name);
    return;
  }
  printf("\"%s\": \"", name);
  for (; *value; value++) {
    if (*value == '"' || *value == '\\')
      putchar('\\');
    putchar(*value);
  }
  putchar('"');
}

int
arguments_failed(const struct error *err)
{
  printf("{");
  arguments_print_text("error", error_code_name((int)err->code));
  printf(", ");
  arguments_print_text("message", err->message);
  printf("}\n");
  return 1;
}
