/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/format/foreign/disk_server.h"

#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/memory.h"
#include "populator/format/foreign/disk_protocol.h"
#include "tests/unit/unit.h"

#define SIZE ((uint64_t)40 << 20)
#define BAD_OFFSET ((uint64_t)10 << 20) /* what lies behind it, for a megabyte, cannot be read */
#define BAD_END ((uint64_t)11 << 20)

static char
byte_at(uint64_t offset)
{
  return (char)(offset % 251);
}

static int
read_pattern(void *context, void *buf, size_t len, uint64_t offset, struct error **err)
{
  (void)context;
  if (offset < BAD_END && offset + len > BAD_OFFSET)
    return error_set(err, ERROR_DATA_LOSS, "cannot read at %llu", (unsigned long long)offset);
  for (size_t i = 0; i < len; i++)
    ((char *)buf)[i] = byte_at(offset + i);
  return 0;
}

/* ---- a client ----------------------------------------------------------------------------------
 */

struct client {
  struct disk_server *server;
  int fd, server_fd;
  pthread_t thread;
  int result;
  atomic_uint heard;
  bool may_go_on;
};

static void *
serve_main(void *arg)
{
  struct client *client = arg;
  client->result = disk_server_serve(client->server, client->server_fd);
  (void)close(client->server_fd);
  return NULL;
}

static bool
on_heard(void *context)
{
  struct client *client = context;
  atomic_fetch_add(&client->heard, 1);
  return client->may_go_on;
}

static void
client_start(struct client *client, unsigned threads)
{
  struct disk_server_options options = {
      .size = SIZE, .read = read_pattern, .heard = on_heard, .context = client, .threads = threads};
  int sockets[2];
  *client = (struct client){.may_go_on = true, .result = 99};
  client->server = disk_server_new(&options);
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  client->fd = sockets[0];
  client->server_fd = sockets[1];
  REQUIRE(pthread_create(&client->thread, NULL, serve_main, client) == 0);
}

/* What serving came to. */
static int
client_finish(struct client *client)
{
  (void)shutdown(client->fd, SHUT_RDWR);
  (void)close(client->fd);
  (void)pthread_join(client->thread, NULL);
  disk_server_free(client->server);
  return client->result;
}

static bool
put(struct client *client, const void *data, size_t len)
{
  return len == 0 || send(client->fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool
get(struct client *client, void *data, size_t len)
{
  return len == 0 || recv(client->fd, data, len, MSG_WAITALL) == (ssize_t)len;
}

/* True when the server has hung up without another word. */
static bool
is_hung_up(struct client *client)
{
  char byte;
  return recv(client->fd, &byte, 1, 0) <= 0;
}

static void
greet(struct client *client, uint32_t flags)
{
  char greeting[18];
  REQUIRE(get(client, greeting, sizeof(greeting)));
  CU_ASSERT(memcmp(greeting, "NBDMAGICIHAVEOPT\0\x03", 18) == 0);
  flags = htobe32(flags);
  REQUIRE(put(client, &flags, sizeof(flags)));
}

static void
put_option(struct client *client, uint32_t option, const void *data, uint32_t len)
{
  struct disk_option_header header = {
      .magic = htobe64(DISK_OPTION_MAGIC), .option = htobe32(option), .len = htobe32(len)};
  REQUIRE(put(client, &header, sizeof(header)) && put(client, data, len));
}

/* The kind of the next reply; its data is thrown away. */
static uint32_t
get_reply(struct client *client, uint32_t option)
{
  struct disk_option_reply reply;
  char data[256];
  REQUIRE(get(client, &reply, sizeof(reply)));
  CU_ASSERT(be64toh(reply.magic) == DISK_REPLY_MAGIC);
  CHECK_NUMBER(be32toh(reply.option), option);
  REQUIRE(be32toh(reply.len) <= sizeof(data) && get(client, data, be32toh(reply.len)));
  return be32toh(reply.reply);
}

static void
go(struct client *client)
{
  greet(client, 3);
  put_option(client, DISK_OPTION_GO, "\0\0\0\0\0\0", 6);
  CHECK_NUMBER(get_reply(client, DISK_OPTION_GO), DISK_REPLY_INFO);
  CHECK_NUMBER(get_reply(client, DISK_OPTION_GO), DISK_REPLY_INFO);
  CHECK_NUMBER(get_reply(client, DISK_OPTION_GO), DISK_REPLY_ACK);
}

static void
put_request(struct client *client, uint16_t command, uint64_t cookie, uint64_t offset, uint32_t len)
{
  struct disk_request request = {.magic = htobe32(DISK_REQUEST_MAGIC),
                                 .command = htobe16(command),
                                 .cookie = htobe64(cookie),
                                 .offset = htobe64(offset),
                                 .len = htobe32(len)};
  REQUIRE(put(client, &request, sizeof(request)));
}

/* The error of the next answer, which must be the one to this cookie. */
static uint32_t
get_answer(struct client *client, uint64_t cookie)
{
  struct disk_reply reply;
  REQUIRE(get(client, &reply, sizeof(reply)));
  CHECK_NUMBER(be32toh(reply.magic), DISK_SIMPLE_REPLY_MAGIC);
  CHECK_NUMBER(be64toh(reply.cookie), cookie);
  return be32toh(reply.error);
}

static bool
get_pattern(struct client *client, uint64_t offset, uint32_t len)
{
  CLEANUP(freep) char *data = xcalloc(1, len);
  if (!get(client, data, len))
    return false;
  for (uint32_t i = 0; i < len; i++) {
    if (data[i] != byte_at(offset + i))
      return false;
  }
  return true;
}

static void
check_reads(struct client *client, uint64_t offset, uint32_t len)
{
  put_request(client, DISK_READ, offset + 7, offset, len);
  CHECK_NUMBER(get_answer(client, offset + 7), 0);
  CU_ASSERT(get_pattern(client, offset, len));
}

/* ---- those who behave --------------------------------------------------------------------------
 */

static void
test_export_is_read(void)
{
  struct client client;
  client_start(&client, 2);
  go(&client);
  CHECK_NUMBER(client.heard, 1);
  check_reads(&client, 0, 1);
  check_reads(&client, 511, 1 << 20);
  check_reads(&client, SIZE - 1, 1);
  check_reads(&client, SIZE - ((uint64_t)5 << 20) - 3, 5 << 20); /* in several pieces */
  put_request(&client, DISK_DISCONNECT, 0, 0, 0);
  CU_ASSERT(is_hung_up(&client));
  CHECK_NUMBER(client_finish(&client), 0);
}

static void
test_old_form_of_the_negotiation(void)
{
  for (uint32_t flags = 1; flags <= 3; flags += 2) { /* with zeros, without */
    struct client client;
    char answer[134];
    client_start(&client, 1);
    greet(&client, flags);
    put_option(&client, DISK_OPTION_EXPORT_NAME, "any", 3);
    REQUIRE(get(&client, answer, flags == 1 ? 134 : 10));
    uint64_t size;
    memcpy(&size, answer, sizeof(size));
    CHECK_NUMBER(be64toh(size), SIZE);
    check_reads(&client, 100, 100);
    CHECK_NUMBER(client_finish(&client), -1); /* it did not take its leave */
  }
}

static void
test_questions_before_the_choice(void)
{
  struct client client;
  client_start(&client, 1);
  greet(&client, 3);
  put_option(&client, 8, NULL, 0); /* structured replies */
  CHECK_NUMBER(get_reply(&client, 8), DISK_REPLY_UNSUPPORTED);
  put_option(&client, 5, NULL, 0); /* TLS */
  CHECK_NUMBER(get_reply(&client, 5), DISK_REPLY_UNSUPPORTED);
  put_option(&client, DISK_OPTION_LIST, NULL, 0);
  CHECK_NUMBER(get_reply(&client, DISK_OPTION_LIST), DISK_REPLY_SERVER);
  CHECK_NUMBER(get_reply(&client, DISK_OPTION_LIST), DISK_REPLY_ACK);
  put_option(&client, DISK_OPTION_INFO, "\0\0\0\x02xy\0\x01\0\x03", 10);
  CHECK_NUMBER(get_reply(&client, DISK_OPTION_INFO), DISK_REPLY_INFO);
  CHECK_NUMBER(get_reply(&client, DISK_OPTION_INFO), DISK_REPLY_INFO);
  CHECK_NUMBER(get_reply(&client, DISK_OPTION_INFO), DISK_REPLY_ACK);
  put_option(&client, DISK_OPTION_ABORT, NULL, 0);
  CHECK_NUMBER(get_reply(&client, DISK_OPTION_ABORT), DISK_REPLY_ACK);
  CU_ASSERT(is_hung_up(&client));
  CHECK_NUMBER(client_finish(&client), 0);
}

static void
test_many_requests_at_once(void)
{
  struct client client;
  client_start(&client, 4);
  go(&client);
  bool is_answered[200] = {false};
  for (uint64_t i = 0; i < 200; i++)
    put_request(&client, DISK_READ, i, i * 1000, 1000);
  for (unsigned i = 0; i < 200; i++) {
    struct disk_reply reply;
    REQUIRE(get(&client, &reply, sizeof(reply)));
    uint64_t cookie = be64toh(reply.cookie);
    REQUIRE(cookie < 200 && !is_answered[cookie] && reply.error == 0);
    is_answered[cookie] = true; /* in any order */
    CU_ASSERT(get_pattern(&client, cookie * 1000, 1000));
  }
  CHECK_NUMBER(client_finish(&client), -1);
}

static void
test_what_cannot_be_read_is_told(void)
{
  struct client client;
  client_start(&client, 1);
  go(&client);
  CU_ASSERT_PTR_NULL(disk_server_failure(client.server));
  put_request(&client, DISK_READ, 1, BAD_OFFSET, 4096);
  CHECK_NUMBER(get_answer(&client, 1), DISK_EIO);
  check_reads(&client, 0, 100); /* it goes on */
  struct error *failure = disk_server_failure(client.server);
  CHECK_ERROR(&failure, ERROR_DATA_LOSS, "cannot read at 10485760");
  /* Half of the answer is on its way when the other half fails: it ends there. */
  put_request(&client, DISK_READ, 2, BAD_OFFSET - (1 << 20), 2 << 20);
  CHECK_NUMBER(get_answer(&client, 2), 0);
  CU_ASSERT(get_pattern(&client, BAD_OFFSET - (1 << 20), 1 << 20));
  CU_ASSERT(is_hung_up(&client));
  CHECK_NUMBER(client_finish(&client), -1);
}

/* ---- those who do not --------------------------------------------------------------------------
 */

static void
test_requests_that_cannot_be(void)
{
  static const struct {
    uint16_t command;
    uint64_t offset;
    uint32_t len;
  } rows[] = {
      {DISK_READ, SIZE, 1},
      {DISK_READ, SIZE - 1, 2},
      {DISK_READ, UINT64_MAX, 1},
      {DISK_READ, UINT64_MAX - 1, 2},
      {DISK_READ, 0, 0},
      {DISK_READ, 0, DISK_REQUEST_MAX + 1},
      {DISK_READ, 0, UINT32_MAX},
      {3, 0, 0},
      {4, 0, 4096},
      {7, 0, 4096},
      {999, 0, 0},
  };
  struct client client;
  client_start(&client, 1);
  go(&client);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    put_request(&client, rows[i].command, i, rows[i].offset, rows[i].len);
    CHECK_NUMBER(get_answer(&client, i), DISK_EINVAL);
  }
  check_reads(&client, 0, 100);
  CHECK_NUMBER(client_finish(&client), -1);
}

static void
test_writing_is_refused(void)
{
  struct client client;
  CLEANUP(freep) char *data = xcalloc(1, 100000);
  client_start(&client, 1);
  go(&client);
  put_request(&client, DISK_WRITE, 5, 0, 100000);
  REQUIRE(put(&client, data, 100000));
  CHECK_NUMBER(get_answer(&client, 5), DISK_EPERM);
  check_reads(&client, 0, 100);
  put_request(&client, DISK_WRITE, 6, 0, DISK_REQUEST_MAX + 1);
  CU_ASSERT(is_hung_up(&client));
  CHECK_NUMBER(client_finish(&client), -1);
}

/* Bytes after the greeting, upon which the server must hang up. */
static void
test_nonsense_ends_the_connection(void)
{
  static const struct {
    const char *bytes;
    size_t len;
  } rows[] = {
      {"\0\0\0\x07", 4},                                    /* unknown flags */
      {"\0\0\0\x03NONSENSE\0\0\0\x07\0\0\0\0", 20},         /* no magic */
      {"\0\0\0\x03IHAVEOPT\0\0\0\x07\xff\xff\xff\xff", 20}, /* absurd length */
      {"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\x20\x01", 20},     /* a byte too long */
      {"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0NONSENSENONSENSENONSENSENONSE", 49}, /* request */
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct client client;
    char greeting[18], old_answer[10];
    client_start(&client, 1);
    REQUIRE(get(&client, greeting, sizeof(greeting)));
    REQUIRE(put(&client, rows[i].bytes, rows[i].len));
    if (rows[i].len == 49)
      REQUIRE(get(&client, old_answer, sizeof(old_answer)));
    CU_ASSERT(is_hung_up(&client));
    CHECK_NUMBER(client_finish(&client), -1);
  }
}

static void
test_options_that_do_not_add_up(void)
{
  static const struct {
    const char *data;
    uint32_t len;
  } rows[] = {{"", 0},
              {"\0\0\0\0\0", 5},
              {"\0\0\0\x01\0\0", 6},
              {"\xff\xff\xff\xff\0\0", 6},
              {"\0\0\0\0\0\x01", 6},
              {"\0\0\0\0\xff\xff\0\x03", 8},
              {"\0\0\0\0\0\0\0", 7}};
  struct client client;
  client_start(&client, 1);
  greet(&client, 3);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    put_option(&client, DISK_OPTION_GO, rows[i].data, rows[i].len);
    CHECK_NUMBER(get_reply(&client, DISK_OPTION_GO), DISK_REPLY_INVALID);
  }
  put_option(&client, DISK_OPTION_LIST, "x", 1);
  CHECK_NUMBER(get_reply(&client, DISK_OPTION_LIST), DISK_REPLY_INVALID);
  CHECK_NUMBER(client_finish(&client), -1);
}

static void
test_options_without_end(void)
{
  struct client client;
  client_start(&client, 1);
  greet(&client, 3);
  unsigned answered = 0;
  struct disk_option_header header = {.magic = htobe64(DISK_OPTION_MAGIC), .option = htobe32(99)};
  struct disk_option_reply reply;
  while (answered < 1000 && put(&client, &header, sizeof(header)) &&
         get(&client, &reply, sizeof(reply)))
    answered++;
  CHECK_NUMBER(answered, 64);
  CHECK_NUMBER(client_finish(&client), -1);
}

/* It asks for much and reads nothing: whoever runs the server can end it. */
static void
test_client_that_takes_nothing(void)
{
  struct client client;
  client_start(&client, 2);
  go(&client);
  for (uint64_t i = 0; i < 20; i++)
    put_request(&client, DISK_READ, i, 0, 1 << 20);
  CHECK_NUMBER(client_finish(&client), -1);
}

static void
test_client_that_leaves_in_the_middle(void)
{
  static const size_t lengths[] = {0, 1, 17, 27};
  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    struct client client;
    char part[28] = "\x25\x60\x95\x13";
    client_start(&client, 1);
    go(&client);
    REQUIRE(lengths[i] == 0 || put(&client, part, lengths[i]));
    CHECK_NUMBER(client_finish(&client), -1);
  }
}

static void
test_nothing_is_answered_before_it_was_heard(void)
{
  struct client client;
  client_start(&client, 1);
  client.may_go_on = false;
  greet(&client, 3); /* upon which it hangs up, maybe before another word can be said */
  CU_ASSERT(is_hung_up(&client));
  CHECK_NUMBER(client.heard, 1);
  CHECK_NUMBER(client_finish(&client), -1);
}

UNIT_MAIN("populator/format/foreign/disk_server", UNIT_TEST(test_export_is_read),
          UNIT_TEST(test_old_form_of_the_negotiation), UNIT_TEST(test_questions_before_the_choice),
          UNIT_TEST(test_many_requests_at_once), UNIT_TEST(test_what_cannot_be_read_is_told),
          UNIT_TEST(test_requests_that_cannot_be), UNIT_TEST(test_writing_is_refused),
          UNIT_TEST(test_nonsense_ends_the_connection), UNIT_TEST(test_options_that_do_not_add_up),
          UNIT_TEST(test_options_without_end), UNIT_TEST(test_client_that_takes_nothing),
          UNIT_TEST(test_client_that_leaves_in_the_middle),
          UNIT_TEST(test_nothing_is_answered_before_it_was_heard))
