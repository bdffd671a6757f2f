/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/foreign_file.h"

#include <string.h>

#include "lib/base/memory.h"
#include "tests/unit/unit.h"

#define SIZE 3000 /* no whole number of sectors */
#define SECTORS 3072
#define MIB ((size_t)1 << 20)

struct memory_source {
  struct source source;
  char bytes[SIZE];
};

static int
memory_read_at(struct source *source, void *buf, size_t len, uint64_t offset, struct error **err)
{
  if (offset + len > source->size)
    return error_set(err, ERROR_OUT_OF_RANGE, "beyond the end");
  memcpy(buf, ((struct memory_source *)source)->bytes + offset, len);
  return 0;
}

static const struct source_ops memory_ops = {.scheme = "", .read_at = memory_read_at};

static struct memory_source
make(const char *magic)
{
  struct memory_source memory = {.source = {.ops = &memory_ops, .size = SIZE}};
  memset(memory.bytes, 'x', sizeof(memory.bytes));
  memset(memory.bytes, 0, 512);
  memcpy(memory.bytes, magic, strlen(magic));
  return memory;
}

static int
read_from(struct foreign_file *file, size_t len, uint64_t offset, struct error **err)
{
  CLEANUP(freep) char *buf = xcalloc(1, len);
  int r = foreign_file_read(file, buf, len, offset, err);
  for (size_t i = 0; r == 0 && i < len; i++) {
    char expected = offset + i < 512 ? buf[i] : offset + i < SIZE ? 'x' : '\0';
    CU_ASSERT_FATAL(buf[i] == expected);
  }
  return r;
}

static void
test_end_is_shown_where_it_must_be(void)
{
  static const char *const formats[] = {"vpc", "vhdx"};
  for (size_t i = 0; i < 2; i++) {
    struct memory_source memory = make("");
    struct foreign_file file;
    REQUIRE(foreign_file_init(&file, &memory.source, formats[i], NULL) == 0);
    CHECK_NUMBER(file.size, SECTORS);
    CU_ASSERT(read_from(&file, SECTORS, 0, NULL) == 0);
    foreign_file_clear(&file);
  }
}

static void
test_what_is_missing_is_an_error(void)
{
  static const char *const formats[] = {"vdi", "qed"};
  for (size_t i = 0; i < 2; i++) {
    CLEANUP(error_freep) struct error *err = NULL;
    struct memory_source memory = make("");
    struct foreign_file file;
    REQUIRE(foreign_file_init(&file, &memory.source, formats[i], NULL) == 0);
    CU_ASSERT(file.size > SECTORS);
    CU_ASSERT(read_from(&file, SECTORS, 0, NULL) == 0);
    CU_ASSERT(read_from(&file, SECTORS + 1, 0, &err) < 0);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "it has 3000 bytes, and says that more is at 0");
    CU_ASSERT(read_from(&file, 512, SECTORS, &err) < 0);
    CHECK_ERROR(&err, ERROR_DATA_LOSS, "more is at 3072");
    foreign_file_clear(&file);
  }
}

/* In pieces, as the server asks for it; but only once. */
static void
test_descriptor_may_be_looked_for_beyond_the_end(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct memory_source memory = make("KDMV");
  struct foreign_file file;
  REQUIRE(foreign_file_init(&file, &memory.source, "vmdk", NULL) == 0);
  CU_ASSERT(file.size > SECTORS);
  CU_ASSERT(read_from(&file, MIB / 2, 0, NULL) == 0);
  CU_ASSERT(read_from(&file, MIB / 2 - 1, MIB / 2, NULL) == 0);
  CU_ASSERT(read_from(&file, 512, 0, NULL) == 0);
  CU_ASSERT(read_from(&file, MIB, 0, &err) < 0);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "ends too early");
  CU_ASSERT(read_from(&file, 512, SECTORS - 511, &err) < 0);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "ends too early");
  foreign_file_clear(&file);
}

/* Nobody knows how long a compressed piece is before it is read. */
static void
test_compressed_pieces_may_go_beyond_the_end(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct memory_source memory = make("KDMV");
  struct foreign_file file;
  memory.bytes[10] = 1; /* bit 16 of the flags */
  REQUIRE(foreign_file_init(&file, &memory.source, "vmdk", NULL) == 0);
  CU_ASSERT(read_from(&file, 512, 1024, NULL) == 0); /* no look from the beginning */
  CU_ASSERT(read_from(&file, 128 << 10, SECTORS - 512, NULL) == 0);
  CU_ASSERT(read_from(&file, 512, SECTORS, &err) < 0);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "ends too early");
  foreign_file_clear(&file);
}

static void
test_vmdk_that_is_found_from_its_end(void)
{
  struct memory_source at_end = make("KDMV");
  struct memory_source descriptor = make("# Disk DescriptorFile");
  struct memory_source *const sources[] = {&at_end, &descriptor};
  memset(at_end.bytes + 56, 0xff, 8); /* where its directory is */
  for (size_t i = 0; i < 2; i++) {
    struct foreign_file file;
    REQUIRE(foreign_file_init(&file, &sources[i]->source, "vmdk", NULL) == 0);
    CHECK_NUMBER(file.size, SECTORS);
    foreign_file_clear(&file);
  }
}

static void
test_empty_file(void)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct memory_source memory = make("");
  struct foreign_file file;
  memory.source.size = 0;
  CU_ASSERT(foreign_file_init(&file, &memory.source, "vdi", NULL) == 0);
  CU_ASSERT(read_from(&file, 512, 0, &err) < 0);
  CHECK_ERROR(&err, ERROR_DATA_LOSS, "it has 0 bytes");
  foreign_file_clear(&file);
}

UNIT_MAIN("populator/format/foreign/foreign_file", UNIT_TEST(test_end_is_shown_where_it_must_be),
          UNIT_TEST(test_what_is_missing_is_an_error),
          UNIT_TEST(test_descriptor_may_be_looked_for_beyond_the_end),
          UNIT_TEST(test_compressed_pieces_may_go_beyond_the_end),
          UNIT_TEST(test_vmdk_that_is_found_from_its_end), UNIT_TEST(test_empty_file))
