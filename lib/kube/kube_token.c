/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kube/kube_token.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/lock.h"
#include "lib/base/memory.h"
#include "lib/kube/small_file.h"

/* Tokens are replaced a tenth of their life before they expire, which is ten minutes at least. */
#define REREAD_MS 60000

struct kube_token {
  pthread_mutex_t mutex;
  char *file; /* NULL: the text never changes */
  char *text;
  int64_t read_at_ms;
};

struct kube_token *
kube_token_new(const struct kube_config *config)
{
  struct kube_token *token = xcalloc(1, sizeof(*token));
  (void)pthread_mutex_init(&token->mutex, NULL);
  token->file = xstrdup(config->token_file);
  token->text = config->token_file ? NULL : xstrdup(config->token);
  return token;
}

static void
forget(struct kube_token *token)
{
  if (token->text)
    explicit_bzero(token->text, strlen(token->text));
  free(TAKE(token->text));
}

void
kube_token_free(struct kube_token *token)
{
  if (!token)
    return;
  forget(token);
  free(token->file);
  (void)pthread_mutex_destroy(&token->mutex);
  free(token);
}

int
kube_token_get(struct kube_token *token, char **ret_text, struct error **err)
{
  MUTEX_GUARD(&token->mutex);
  int64_t now_ms = clock_now_ms();
  if (token->file && (!token->text || now_ms - token->read_at_ms >= REREAD_MS)) {
    char *text;
    if (small_file_read_line(token->file, &text, err) < 0)
      return error_wrap(err, "token of the service account");
    forget(token);
    token->text = text;
    token->read_at_ms = now_ms;
  }
  *ret_text = xstrdup(token->text);
  return 0;
}

void
kube_token_refused(struct kube_token *token)
{
  MUTEX_GUARD(&token->mutex);
  if (token->file)
    forget(token);
}
