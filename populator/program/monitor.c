/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/program/monitor.h"

#include <string.h>

#include "lib/base/memory.h"

#define CONNECTIONS 32
#define SILENCE_S 15
#define PLAIN "text/plain; charset=utf-8"

static void
answer_metrics(struct populator *populator, struct http_call *call)
{
  CLEANUP(buffer_clear) struct buffer text = {0};
  populator_metrics(populator, &text);
  http_call_answer(call, 200, "text/plain; version=0.0.4; charset=utf-8", text.data);
}

/* That it answers at all is what is asked: whatever waits for Ceph or for the API server goes on by
 * itself, and would not go on sooner after a restart. */
static void
answer_health(struct populator *populator, struct http_call *call)
{
  (void)populator;
  http_call_answer(call, 200, PLAIN, "ok\n");
}

static void
answer_readiness(struct populator *populator, struct http_call *call)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  if (populator_check(populator, &failure) == 0) {
    http_call_answer(call, 200, PLAIN, "ok\n");
    return;
  }
  CLEANUP(freep) char *text = xasprintf("%s\n", failure->message);
  http_call_answer(call, 503, PLAIN, text);
}

static const struct {
  const char *path;
  void (*answer)(struct populator *populator, struct http_call *call);
} pages[] = {
    {"/metrics", answer_metrics},
    {"/healthz", answer_health},
    {"/readyz", answer_readiness},
};

static void *
begin(void *context, struct http_call *call)
{
  const char *method = http_call_method(call);
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
    http_call_set_header(call, "Allow", "GET, HEAD");
    http_call_answer(call, 405, PLAIN, "only GET\n");
    return NULL;
  }
  for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
    if (strcmp(pages[i].path, http_call_path(call)) == 0) {
      pages[i].answer(context, call);
      return NULL;
    }
  }
  http_call_answer(call, 404, PLAIN, "/metrics, /healthz and /readyz are here\n");
  return NULL;
}

int
monitor_start(const char *listen, struct populator *populator, struct http_server **ret_server,
              struct error **err)
{
  static const struct http_service service = {.begin = begin};
  const struct http_server_options options = {.listen = listen,
                                              .max_connections = CONNECTIONS,
                                              .silence_s = SILENCE_S,
                                              .service = &service,
                                              .context = populator};
  if (http_server_start(&options, ret_server, err) < 0)
    return error_wrap(err, "--metrics-listen");
  return 0;
}
