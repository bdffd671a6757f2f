/* SPDX-License-Identifier: Apache-2.0 */
/* data_floor: the least that a transfer of a disk can take, without any of what is around it. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/data_inflate.h"
#include "bench/data_rbd.h"

/* An object of RBD's default size. */
#define PIECE_BYTES ((size_t)4 << 20)

static const char help_text[] =
    "Usage: data_floor write|read CONF RAW_FILE POOL IMAGE\n"
    "       data_floor inflate GZIP_FILE\n"
    "\n"
    "write makes the image and writes to it what in the file is not zeros, read reads as much,\n"
    "inflate unpacks the file with one thread. The file is in memory before the clock starts.\n"
    "Prints a JSON object: seconds, bytes, requests.\n";

static double
now(void)
{
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int
run(int argc, char **argv, struct error **err)
{
  bool is_inflate = argc == 3 && strcmp(argv[1], "inflate") == 0;
  bool is_write = argc == 6 && strcmp(argv[1], "write") == 0;
  bool is_read = argc == 6 && strcmp(argv[1], "read") == 0;
  if (!is_inflate && !is_write && !is_read)
    return error_set(err, ERROR_INVALID_ARGUMENT, "unknown arguments\n%s", help_text);
  struct data_file file;
  if (data_file_open(argv[is_inflate ? 2 : 3], PIECE_BYTES, &file, err) < 0)
    return -1;
  uint64_t bytes = 0;
  for (size_t i = 0; i < file.count; i++)
    bytes += file.extents[i].len;
  double start = now();
  int r;
  if (is_inflate) {
    r = data_inflate(&file, &bytes, err);
  } else {
    const struct data_place place = {.conf_file = argv[2], .pool = argv[4], .image = argv[5]};
    r = is_write ? data_rbd_write(&place, &file, err) : data_rbd_read(&place, &file, err);
  }
  double seconds = now() - start;
  if (r == 0)
    (void)printf("{\"seconds\":%.3f,\"bytes\":%llu,\"requests\":%zu}\n", seconds,
                 (unsigned long long)bytes, file.count);
  data_file_close(&file);
  return r;
}

int
main(int argc, char **argv)
{
  CLEANUP(error_freep) struct error *err = NULL;
  int r = run(argc, argv, &err);
  if (r < 0)
    (void)fprintf(stderr, "data_floor: %s\n", err->message);
  return r < 0 ? 1 : 0;
}
