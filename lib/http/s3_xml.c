/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/s3_xml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buffer.h"
#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

struct s3_span
s3_xml_span(const char *text)
{
  return (struct s3_span){.at = text, .len = strlen(text)};
}

static struct s3_span
behind(struct s3_span in, const char *at)
{
  return (struct s3_span){.at = at, .len = (size_t)(in.at + in.len - at)};
}

/* Behind "<name>" or "<name attribute…>"; NULL when there is none. */
static const char *
find_start(struct s3_span in, const char *name)
{
  size_t name_len = strlen(name);
  while (in.len > 0) {
    const char *open = memchr(in.at, '<', in.len);
    if (!open)
      return NULL;
    struct s3_span tag = behind(in, open + 1);
    const char *close = memchr(tag.at, '>', tag.len);
    if (!close)
      return NULL;
    size_t tag_len = (size_t)(close - tag.at);
    if (tag_len >= name_len && memcmp(tag.at, name, name_len) == 0 &&
        (tag_len == name_len || strchr(" \t\r\n", tag.at[name_len])) && close[-1] != '/')
      return close + 1;
    in = behind(in, close + 1);
  }
  return NULL;
}

bool
s3_xml_find(struct s3_span in, const char *name, struct s3_span *ret_content,
            struct s3_span *ret_behind)
{
  const char *start = find_start(in, name);
  if (!start)
    return false;
  CLEANUP(freep) char *end_tag = xasprintf("</%s>", name);
  struct s3_span rest = behind(in, start);
  const char *end = memmem(rest.at, rest.len, end_tag, strlen(end_tag));
  if (!end)
    return false;
  *ret_content = (struct s3_span){.at = start, .len = (size_t)(end - start)};
  if (ret_behind)
    *ret_behind = behind(in, end + strlen(end_tag));
  return true;
}

static void
append_utf8(struct buffer *out, uint64_t code)
{
  unsigned char bytes[4];
  size_t len = 0;
  if (code < 0x80) {
    bytes[len++] = (unsigned char)code;
  } else if (code < 0x800) {
    bytes[len++] = (unsigned char)(0xc0 | code >> 6);
    bytes[len++] = (unsigned char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    bytes[len++] = (unsigned char)(0xe0 | code >> 12);
    bytes[len++] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    bytes[len++] = (unsigned char)(0x80 | (code & 0x3f));
  } else {
    bytes[len++] = (unsigned char)(0xf0 | code >> 18);
    bytes[len++] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
    bytes[len++] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    bytes[len++] = (unsigned char)(0x80 | (code & 0x3f));
  }
  (void)buffer_append(out, bytes, len);
}

/* "&#38;" without its '&' and ';': the character, 0 when it is none. */
static uint64_t
numeric(const char *name)
{
  uint64_t code;
  int r = name[1] == 'x' ? text_to_u64(name + 2, 16, &code) : text_to_u64(name + 1, 10, &code);
  return r == 0 && code <= 0x10ffff ? code : 0;
}

static const struct {
  const char *name;
  char c;
} entities[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};

#define ENTITIES (sizeof(entities) / sizeof(entities[0]))
/* The longest name of an entity that is looked at. */
#define ENTITY_MAX 10

/* The entity at `from`, which begins with '&'; how long it is, 0 when it is none. */
static size_t
append_entity(struct buffer *out, struct s3_span from)
{
  const char *end = memchr(from.at, ';', from.len < ENTITY_MAX ? from.len : ENTITY_MAX);
  if (!end)
    return 0;
  size_t len = (size_t)(end - from.at) + 1;
  CLEANUP(freep) char *name = xstrndup(from.at + 1, len - 2);
  uint64_t code = name[0] == '#' ? numeric(name) : 0;
  for (size_t i = 0; i < ENTITIES; i++) {
    if (strcmp(name, entities[i].name) == 0)
      code = (unsigned char)entities[i].c;
  }
  if (code == 0)
    return 0;
  append_utf8(out, code);
  return len;
}

static char *
decode(struct s3_span content)
{
  struct buffer out = {0};
  (void)buffer_append(&out, "", 0);
  for (size_t i = 0; i < content.len;) {
    size_t step = 0;
    if (content.at[i] == '&')
      step = append_entity(&out, behind(content, content.at + i));
    if (step == 0) {
      (void)buffer_append(&out, content.at + i, 1);
      step = 1;
    }
    i += step;
  }
  return out.data;
}

char *
s3_xml_text(struct s3_span in, const char *name)
{
  struct s3_span content;
  if (!s3_xml_find(in, name, &content, NULL) || memchr(content.at, '<', content.len))
    return NULL;
  return decode(content);
}

char *
s3_xml_error(const char *document)
{
  struct s3_span error;
  /* a document that was cut off has no end */
  const char *start = find_start(s3_xml_span(document), "Error");
  if (!start)
    return NULL;
  error = s3_xml_span(start);
  CLEANUP(freep) char *code = s3_xml_text(error, "Code");
  if (!code)
    return NULL;
  CLEANUP(freep) char *message = s3_xml_text(error, "Message");
  return message && *message ? xasprintf("%s: %s", code, message) : TAKE(code);
}

char *
s3_xml_escape(const char *text)
{
  struct buffer out = {0};
  (void)buffer_append(&out, "", 0);
  for (; *text; text++) {
    const char *name = NULL;
    for (size_t i = 0; i < ENTITIES; i++) {
      if (*text == entities[i].c)
        name = entities[i].name;
    }
    if (!name) {
      (void)buffer_append(&out, text, 1);
      continue;
    }
    (void)buffer_append_text(&out, "&");
    (void)buffer_append_text(&out, name);
    (void)buffer_append_text(&out, ";");
  }
  return out.data;
}
