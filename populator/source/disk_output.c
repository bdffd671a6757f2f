/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/source/disk_output.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/base/memory.h"
#include "lib/http/http_client.h"
#include "lib/http/http_retry.h"
#include "populator/source/disk_connection_parts.h"

#define SLOTS 16
/* Zeroed by one request: a server that has to write them does so well within the time it has. */
#define ZERO_BYTES ((uint64_t)128 << 20)
/* The server is told to bring what it has to its disk so often, or the last flush would take as
 * long as everything before. */
#define FLUSH_BYTES ((uint64_t)256 << 20)
/* A server that waits for its disk is silent for longer than one that is read from. */
#define STALL_FACTOR 4
#define RETRY_FIRST_MS_DEFAULT 200
#define STALL_S_DEFAULT 30
#define PAUSE_STEP_MS 100

/* A request in flight. */
struct slot {
  struct disk_output *output;
  bool is_busy;
  char *data; /* DISK_REQUEST_BYTES, from its first use on */
};

struct disk_output {
  struct disk_output_options options;
  struct disk_connection_options connecting;
  struct disk_connection *connection;
  atomic_bool is_cancelled;
  struct slot slots[SLOTS];
  int failure; /* the first errno that the server gave; 0: none */
  char *zeros; /* DISK_REQUEST_BYTES, for a server that cannot zero */
  bool can_zero;

  struct slot *gathering; /* not sent yet; NULL: nothing */
  size_t gathered;
  uint64_t gathered_at;
  uint64_t unflushed; /* bytes since the last flush was asked for */
};

/* ---- failures ----------------------------------------------------------------------------------
 */

/* What ends a connection that was made is an accident, unless the server said what it is about. */
static int
fail(const struct disk_failure *failure, const struct error *cause, struct error **err)
{
  bool is_accident = failure->is_broken && failure->is_transient;
  return error_set(err, is_accident ? ERROR_ABORTED : cause->code, "%s", cause->message);
}

static enum error_code
code_of(int number)
{
  switch (number) {
  case ENOTCONN: /* libnbd's word for what was under way when the connection broke */
  case ESHUTDOWN:
    return ERROR_ABORTED;
  case ENOSPC:
    return ERROR_RESOURCE_EXHAUSTED;
  case EPERM:
  case EROFS:
    return ERROR_PERMISSION_DENIED;
  case EINVAL:
    return ERROR_FAILED_PRECONDITION;
  default:
    return ERROR_UNAVAILABLE;
  }
}

static int
check(const struct disk_output *output, struct error **err)
{
  if (output->failure == 0)
    return 0;
  return error_set(err, code_of(output->failure), "write to '%s': %s", output->options.uri->label,
                   strerrordesc_np(output->failure));
}

/* Waits a little for something to happen. */
static int
move_on(struct disk_output *output, struct disk_patience *patience, struct error **err)
{
  CLEANUP(error_freep) struct error *cause = NULL;
  struct disk_failure failure = {0};
  if (disk_connection_move_on(output->connection, patience, &failure, &cause) < 0)
    return fail(&failure, cause, err);
  return check(output, err);
}

/* A request that libnbd did not even take. */
static int
refused(struct disk_output *output, struct error **err)
{
  CLEANUP(error_freep) struct error *cause = NULL;
  struct disk_failure failure = {0};
  (void)disk_connection_fail(output->connection, &failure, "write to", &cause);
  return fail(&failure, cause, err);
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static int
on_done(void *context, int *error)
{
  struct slot *slot = context;
  slot->is_busy = false;
  if (*error != 0 && slot->output->failure == 0)
    slot->output->failure = *error;
  return 1; /* nobody asks for it any more */
}

/* One that is free, when there is one. */
static int
take_slot(struct disk_output *output, struct slot **ret_slot, struct error **err)
{
  struct disk_patience patience = disk_patience_begin(output->connection);
  for (;;) {
    for (size_t i = 0; i < SLOTS; i++) {
      if (!output->slots[i].is_busy && &output->slots[i] != output->gathering) {
        *ret_slot = &output->slots[i];
        return check(output, err);
      }
    }
    if (move_on(output, &patience, err) < 0)
      return -1;
  }
}

static nbd_completion_callback
completion(struct slot *slot)
{
  slot->is_busy = true;
  return (nbd_completion_callback){.callback = on_done, .user_data = slot};
}

static int
ask_for_flush(struct disk_output *output, struct error **err)
{
  struct slot *slot;
  struct nbd_handle *nbd = output->connection->nbd;
  output->unflushed = 0;
  if (nbd_can_flush(nbd) <= 0)
    return 0;
  if (take_slot(output, &slot, err) < 0)
    return -1;
  return nbd_aio_flush(nbd, completion(slot), 0) < 0 ? refused(output, err) : 0;
}

static int
count(struct disk_output *output, uint64_t len, struct error **err)
{
  output->unflushed += len;
  return output->unflushed >= FLUSH_BYTES ? ask_for_flush(output, err) : 0;
}

/* Sends what was gathered. */
static int
send_gathered(struct disk_output *output, struct error **err)
{
  struct slot *slot = TAKE(output->gathering);
  if (!slot)
    return 0;
  if (nbd_aio_pwrite(output->connection->nbd, slot->data, output->gathered, output->gathered_at,
                     completion(slot), 0) < 0)
    return refused(output, err);
  return count(output, output->gathered, err);
}

/* ---- life --------------------------------------------------------------------------------------
 */

/* False when it was cancelled meanwhile. */
static bool
pause_for(struct disk_output *output, unsigned failures)
{
  uint32_t random;
  const struct timespec step = {.tv_nsec = PAUSE_STEP_MS * 1000000L};
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
    random = 0; /* jitter is a courtesy */
  int64_t left_ms = http_retry_pause_ms(output->options.retry_first_ms, failures, random);
  for (; left_ms > 0 && !atomic_load(&output->is_cancelled); left_ms -= PAUSE_STEP_MS)
    (void)nanosleep(&step, NULL);
  return !atomic_load(&output->is_cancelled);
}

static int
connect_patiently(struct disk_output *output, struct error **err)
{
  for (unsigned failures = 1;; failures++) {
    CLEANUP(error_freep) struct error *cause = NULL;
    struct disk_failure failure = {0};
    if (disk_connection_open(&output->connecting, &output->connection, &failure, &cause) == 0)
      return 0;
    if (!failure.is_transient || failures > output->options.retries || !pause_for(output, failures))
      return error_set(err, cause->code, "%s", cause->message);
  }
}

static void
fill_defaults(struct disk_output_options *options)
{
  options->retries = http_retries_of(options->retries);
  if (options->retry_first_ms == 0)
    options->retry_first_ms = RETRY_FIRST_MS_DEFAULT;
  if (options->stall_s == 0)
    options->stall_s = STALL_S_DEFAULT;
}

static int
check_export(struct disk_output *output, struct error **err)
{
  const char *label = output->options.uri->label;
  if (nbd_is_read_only(output->connection->nbd) != 0)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "'%s' is read-only: the server has to allow writing", label);
  if (output->connection->block > DISK_OUTPUT_ALIGN)
    return error_set(err, ERROR_FAILED_PRECONDITION,
                     "'%s' takes only blocks of more than %zu bytes", label, DISK_OUTPUT_ALIGN);
  output->can_zero = nbd_can_zero(output->connection->nbd) > 0;
  return 0;
}

int
disk_output_open(const struct disk_output_options *options, struct disk_output **ret_output,
                 struct error **err)
{
  CLEANUP(disk_output_closep) struct disk_output *output = xcalloc(1, sizeof(*output));
  output->options = *options;
  fill_defaults(&output->options);
  output->connecting = (struct disk_connection_options){
      .uri = output->options.uri,
      .ca_bundle = output->options.ca_bundle,
      .allow_local_addresses = output->options.allow_local_addresses,
      .stall_ms = (int64_t)output->options.stall_s * 1000 * STALL_FACTOR,
      .is_cancelled = &output->is_cancelled,
  };
  for (size_t i = 0; i < SLOTS; i++)
    output->slots[i].output = output;
  if (connect_patiently(output, err) < 0 || check_export(output, err) < 0)
    return -1;
  *ret_output = TAKE(output);
  return 0;
}

int
disk_output_reconnect(struct disk_output *output, struct error **err)
{
  disk_connection_close(TAKE(output->connection));
  for (size_t i = 0; i < SLOTS; i++)
    output->slots[i].is_busy = false;
  output->gathering = NULL;
  output->failure = 0;
  output->unflushed = 0;
  return connect_patiently(output, err) < 0 ? -1 : check_export(output, err);
}

void
disk_output_close(struct disk_output *output)
{
  if (!output)
    return;
  disk_connection_close(output->connection); /* now nobody reads the slots' data */
  for (size_t i = 0; i < SLOTS; i++)
    free(output->slots[i].data);
  free(output->zeros);
  free(output);
}

uint64_t
disk_output_size(const struct disk_output *output)
{
  return output->connection->size;
}

void
disk_output_cancel(struct disk_output *output)
{
  atomic_store(&output->is_cancelled, true);
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static int
begin_gathering(struct disk_output *output, uint64_t offset, struct error **err)
{
  struct slot *slot;
  if (take_slot(output, &slot, err) < 0)
    return -1;
  if (!slot->data)
    slot->data = xcalloc(1, DISK_REQUEST_BYTES);
  output->gathering = slot;
  output->gathered = 0;
  output->gathered_at = offset;
  return 0;
}

int
disk_output_write(struct disk_output *output, const void *data, size_t len, uint64_t offset,
                  struct error **err)
{
  if (output->gathering && output->gathered_at + output->gathered != offset &&
      send_gathered(output, err) < 0)
    return -1;
  for (const char *at = data; len > 0;) {
    if (!output->gathering && begin_gathering(output, offset, err) < 0)
      return -1;
    size_t room = output->connection->request - output->gathered;
    size_t part = len < room ? len : room;
    memcpy(output->gathering->data + output->gathered, at, part);
    output->gathered += part;
    at += part;
    offset += part;
    len -= part;
    if (part == room && send_gathered(output, err) < 0)
      return -1;
  }
  return 0;
}

/* A piece of whole blocks. */
static int
zero_piece(struct disk_output *output, uint64_t len, uint64_t offset, struct error **err)
{
  struct slot *slot;
  struct nbd_handle *nbd = output->connection->nbd;
  if (take_slot(output, &slot, err) < 0)
    return -1;
  if (output->can_zero)
    return nbd_aio_zero(nbd, len, offset, completion(slot), 0) < 0 ? refused(output, err) : 0;
  if (!output->zeros)
    output->zeros = xcalloc(1, DISK_REQUEST_BYTES);
  if (nbd_aio_pwrite(nbd, output->zeros, (size_t)len, offset, completion(slot), 0) < 0)
    return refused(output, err);
  return count(output, len, err);
}

int
disk_output_zero(struct disk_output *output, uint64_t len, uint64_t offset, struct error **err)
{
  static const char zeros[DISK_OUTPUT_ALIGN];
  uint64_t block = output->connection->block;
  uint64_t most = output->can_zero ? ZERO_BYTES : output->connection->request;
  /* Up to a whole block it belongs to what is gathered, and from the last one on likewise. */
  uint64_t first = (block - offset % block) % block;
  if (first > len)
    first = len;
  if (first > 0 && disk_output_write(output, zeros, (size_t)first, offset, err) < 0)
    return -1;
  uint64_t end = offset + len;
  uint64_t last = (end - offset - first) % block;
  for (offset += first; offset < end - last;) {
    uint64_t left = end - last - offset;
    uint64_t part = left < most ? left : most;
    if (zero_piece(output, part, offset, err) < 0)
      return -1;
    offset += part;
  }
  return last > 0 ? disk_output_write(output, zeros, (size_t)last, offset, err) : 0;
}

static int
drain(struct disk_output *output, struct error **err)
{
  struct disk_patience patience = disk_patience_begin(output->connection);
  for (size_t i = 0; i < SLOTS; i++) {
    while (output->slots[i].is_busy) {
      if (move_on(output, &patience, err) < 0)
        return -1;
    }
  }
  return check(output, err);
}

int
disk_output_flush(struct disk_output *output, struct error **err)
{
  if (send_gathered(output, err) < 0 || drain(output, err) < 0 || ask_for_flush(output, err) < 0)
    return -1;
  return drain(output, err);
}
