/* SPDX-License-Identifier: Apache-2.0 */
/* Files are in the format of RFC 8536: a list of moments with what holds from each on, and behind
 * it one line in the words of POSIX's TZ for all that comes after the last. Which of both covers
 * the present depends on how the system built its files, so both are read. */
#include "lib/base/time_zone.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/buffer.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/base/zone_rule.h"

#define FOLDER "/usr/share/zoneinfo"
#define FILE_BYTES_MAX ((size_t)256 << 10)
#define NAME_MAX_BYTES 64
#define HEADER_BYTES 44

struct transition {
  int64_t at_s;
  int64_t offset_s; /* from then on */
};

struct time_zone {
  struct transition *transitions; /* in order of time */
  size_t count;
  int64_t first_offset_s; /* before them all */
  struct zone_rule rule;
  bool has_rule; /* for what is behind the last transition */
};

/* ---- reading ----------------------------------------------------------------------------------
 */

struct reader {
  const unsigned char *at;
  size_t left;
};

static uint64_t
take_number(struct reader *reader, size_t bytes)
{
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++)
    value = value << 8 | reader->at[i];
  reader->at += bytes;
  reader->left -= bytes;
  return value;
}

struct header {
  char version;
  size_t isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt;
};

static bool
take_header(struct reader *reader, struct header *header)
{
  if (reader->left < HEADER_BYTES || memcmp(reader->at, "TZif", 4) != 0)
    return false;
  header->version = (char)reader->at[4];
  reader->at += 20;
  reader->left -= 20;
  header->isutcnt = take_number(reader, 4);
  header->isstdcnt = take_number(reader, 4);
  header->leapcnt = take_number(reader, 4);
  header->timecnt = take_number(reader, 4);
  header->typecnt = take_number(reader, 4);
  header->charcnt = take_number(reader, 4);
  return header->typecnt > 0 && header->typecnt <= 256;
}

static uint64_t
block_bytes(const struct header *header, size_t time_bytes)
{
  return (uint64_t)header->timecnt * (time_bytes + 1) + (uint64_t)header->typecnt * 6 +
         header->charcnt + (uint64_t)header->leapcnt * (time_bytes + 4) + header->isstdcnt +
         header->isutcnt;
}

static int64_t
type_offset_s(const unsigned char *types, size_t index)
{
  struct reader reader = {types + index * 6, 4};
  return (int32_t)take_number(&reader, 4);
}

/* RFC 8536: more than -25 hours and less than 26. */
static bool
is_offset(int64_t offset_s)
{
  return offset_s > -25LL * 3600 && offset_s < 26LL * 3600;
}

/* The block with times of eight bytes; its size was checked. */
static bool
take_transitions(struct reader *reader, const struct header *header, struct time_zone *zone)
{
  const unsigned char *indexes = reader->at + header->timecnt * 8;
  const unsigned char *types = indexes + header->timecnt;
  zone->transitions = xcalloc(header->timecnt + 1, sizeof(*zone->transitions));
  zone->first_offset_s = type_offset_s(types, 0);
  for (size_t i = 0; i < header->timecnt; i++) {
    int64_t at_s = (int64_t)take_number(reader, 8);
    if (indexes[i] >= header->typecnt || (i > 0 && at_s <= zone->transitions[i - 1].at_s))
      return false;
    int64_t offset_s = type_offset_s(types, indexes[i]);
    if (!is_offset(offset_s))
      return false;
    zone->transitions[zone->count++] = (struct transition){at_s, offset_s};
  }
  return is_offset(zone->first_offset_s);
}

/* "\nCET-1CEST,M3.5.0,M10.5.0/3\n"; an empty line says nothing. */
static bool
take_footer(const struct reader *reader, struct time_zone *zone)
{
  if (reader->left < 2 || reader->at[0] != '\n')
    return false;
  const char *line = (const char *)reader->at + 1;
  const char *end = memchr(line, '\n', reader->left - 1);
  if (!end)
    return false;
  zone->has_rule = end > line;
  CLEANUP(freep) char *text = xstrndup(line, (size_t)(end - line));
  return !zone->has_rule || zone_rule_parse(text, &zone->rule);
}

static bool
parse(struct reader *reader, struct time_zone *zone)
{
  struct header header;
  if (!take_header(reader, &header) || header.version < '2')
    return false; /* nobody writes the first version alone any more */
  uint64_t old = block_bytes(&header, 4);
  if (old > reader->left)
    return false;
  reader->at += old;
  reader->left -= old;
  if (!take_header(reader, &header))
    return false;
  uint64_t bytes = block_bytes(&header, 8);
  if (bytes > reader->left)
    return false;
  struct reader footer = {reader->at + bytes, reader->left - bytes};
  return take_transitions(reader, &header, zone) && take_footer(&footer, zone);
}

int
time_zone_parse(const void *data, size_t len, struct time_zone **ret_zone, struct error **err)
{
  CLEANUP(time_zone_closep) struct time_zone *zone = xcalloc(1, sizeof(*zone));
  struct reader reader = {data, len};
  if (!parse(&reader, zone))
    return error_set(err, ERROR_INVALID_ARGUMENT, "it is no time zone file that can be read");
  *ret_zone = TAKE(zone);
  return 0;
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* What could lead out of the folder is refused before a file is looked for. */
static bool
is_name(const char *name)
{
  for (const char *c = name; *c; c++) {
    bool is_start = c == name || c[-1] == '/';
    bool is_letter = (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z');
    bool is_other = (*c >= '0' && *c <= '9') || *c == '_' || *c == '-' || *c == '+' || *c == '/';
    if (!is_letter && (is_start || !is_other))
      return false;
  }
  return strlen(name) <= NAME_MAX_BYTES && name[strlen(name) - 1] != '/';
}

static int
read_file(const char *path, struct buffer *contents, struct error **err)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "%s", path);
  char chunk[4096];
  ssize_t got;
  while ((got = read(fd, chunk, sizeof(chunk))) > 0 && buffer_append(contents, chunk, (size_t)got))
    ;
  int problem = got < 0 ? errno : got > 0 ? EFBIG : 0;
  (void)close(fd);
  return problem ? error_set_errno(err, problem, "%s", path) : 0;
}

int
time_zone_open(const char *name, struct time_zone **ret_zone, struct error **err)
{
  if (!name || !*name || strcmp(name, "UTC") == 0) {
    *ret_zone = NULL;
    return 0;
  }
  if (!is_name(name))
    return error_set(err, ERROR_INVALID_ARGUMENT, "'%.64s' is no name of a time zone", name);
  CLEANUP(freep) char *path = xasprintf(FOLDER "/%s", name);
  CLEANUP(error_freep) struct error *failure = NULL;
  struct buffer contents = {.limit = FILE_BYTES_MAX};
  int r = read_file(path, &contents, &failure);
  if (r < 0)
    r = error_set(err, ERROR_NOT_FOUND, "there is no time zone '%s' here: %s", name,
                  failure->message);
  else if (time_zone_parse(contents.data, contents.len, ret_zone, err) < 0)
    r = error_wrap(err, "%s", path);
  buffer_clear(&contents);
  return r;
}

void
time_zone_close(struct time_zone *zone)
{
  if (!zone)
    return;
  free(zone->transitions);
  free(zone);
}

/* ---- looking ----------------------------------------------------------------------------------
 */

/* The index of the first transition behind at_s. */
static size_t
find_behind(const struct time_zone *zone, int64_t at_s)
{
  size_t low = 0;
  size_t high = zone->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (zone->transitions[middle].at_s <= at_s)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int64_t
time_zone_offset_s(const struct time_zone *zone, int64_t at_s)
{
  if (!zone)
    return 0;
  size_t behind = find_behind(zone, at_s);
  if (behind == zone->count && zone->has_rule)
    return zone_rule_offset_s(&zone->rule, at_s);
  return behind > 0 ? zone->transitions[behind - 1].offset_s : zone->first_offset_s;
}

int64_t
time_zone_steady_until_s(const struct time_zone *zone, int64_t at_s)
{
  if (!zone)
    return INT64_MAX;
  size_t behind = find_behind(zone, at_s);
  if (behind < zone->count)
    return zone->transitions[behind].at_s;
  return zone->has_rule ? zone_rule_steady_until_s(&zone->rule, at_s) : INT64_MAX;
}
