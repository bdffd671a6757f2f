/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/aws_profile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"

/* A session token has some 1,000 characters. */
#define LINE_MAX_BYTES 8192

void
aws_profile_clear(struct aws_profile *profile)
{
  char **const members[] = {&profile->access_key, &profile->secret_key, &profile->session_token};
  for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
    if (*members[i])
      explicit_bzero(*members[i], strlen(*members[i]));
    free(*members[i]);
    *members[i] = NULL;
  }
}

/* Without blanks at both ends, in place. */
static char *
strip(char *text)
{
  static const char blanks[] = " \t\r\n";
  text += strspn(text, blanks);
  size_t len = strlen(text);
  while (len > 0 && strchr(blanks, text[len - 1]))
    text[--len] = '\0';
  return text;
}

static void
take_line(struct aws_profile *profile, char *line)
{
  const struct {
    const char *name;
    char **member;
  } keys[] = {{"aws_access_key_id", &profile->access_key},
              {"aws_secret_access_key", &profile->secret_key},
              {"aws_session_token", &profile->session_token}};
  char *sign = strchr(line, '=');
  if (!sign)
    return;
  *sign = '\0';
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    if (strcmp(strip(line), keys[i].name) != 0)
      continue;
    free(*keys[i].member);
    *keys[i].member = xstrdup(strip(sign + 1));
  }
}

static void
read_profile(FILE *file, const char *wanted, struct aws_profile *profile)
{
  CLEANUP(freep) char *header = xasprintf("[%s]", wanted);
  char line[LINE_MAX_BYTES];
  bool is_wanted = false;
  while (fgets(line, sizeof(line), file)) {
    char *text = strip(line);
    if (*text == '[')
      is_wanted = strcmp(text, header) == 0;
    else if (is_wanted && *text != '#' && *text != ';')
      take_line(profile, text);
  }
  explicit_bzero(line, sizeof(line));
}

void
aws_profile_load(struct aws_profile *ret_profile)
{
  const char *named = getenv("AWS_SHARED_CREDENTIALS_FILE");
  const char *home = getenv("HOME");
  const char *profile = getenv("AWS_PROFILE");
  CLEANUP(freep)
  char *path =
      named && *named ? xstrdup(named) : xasprintf("%s/.aws/credentials", home ? home : "");
  *ret_profile = (struct aws_profile){0};
  FILE *file = fopen(path, "re");
  if (!file)
    return;
  read_profile(file, profile && *profile ? profile : "default", ret_profile);
  (void)fclose(file);
}
