/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/signature.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/memory.h"

/* As much of the beginning must be zeros. */
#define LOOKED_AT_BYTES ((size_t)1 << 20)

DEFINE_CLEANUP(blkid_probe, blkid_free_probe)

static const char *
value_of(blkid_probe probe, const char *name)
{
  const char *value = NULL;
  return blkid_probe_lookup_value(probe, name, &value, NULL) == 0 ? value : NULL;
}

/* 0 when libblkid knows something there, 1 when not. is_any: also what it takes for damaged: a
 * wrong checksum, or a GPT of which the end of the device alone has a copy. */
static int
ask_libblkid(int fd, const char *device, bool is_any, struct signature *signature,
             struct error **err)
{
  CLEANUP(blkid_free_probep) blkid_probe probe = blkid_new_probe();
  if (!probe || blkid_probe_set_device(probe, fd, 0, 0) < 0)
    return error_set(err, ERROR_INTERNAL, "libblkid cannot look at '%s'", device);
  (void)blkid_probe_enable_superblocks(probe, 1);
  (void)blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
                                                     BLKID_SUBLKS_MAGIC |
                                                     (is_any ? BLKID_SUBLKS_BADCSUM : 0));
  (void)blkid_probe_enable_partitions(probe, 1);
  if (is_any)
    (void)blkid_probe_set_partitions_flags(probe, BLKID_PARTS_FORCE_GPT);
  errno = 0;
  int r = blkid_do_safeprobe(probe);
  if (r == 1)
    return 1;
  if (r == -2) { /* several at once: somebody's data */
    signature->kind = SIGNATURE_OTHER;
    (void)snprintf(signature->name, sizeof(signature->name), "several signatures");
    return 0;
  }
  if (r < 0)
    return error_set_errno(err, errno ? errno : EIO, "look for signatures on '%s'", device);
  const char *type = value_of(probe, "TYPE"), *usage = value_of(probe, "USAGE");
  const char *table = value_of(probe, "PTTYPE");
  signature->kind =
      type && usage && strcmp(usage, "filesystem") == 0 ? SIGNATURE_FILESYSTEM : SIGNATURE_OTHER;
  if (type)
    (void)snprintf(signature->name, sizeof(signature->name), "%s", type);
  else
    (void)snprintf(signature->name, sizeof(signature->name), "%s partition table",
                   table ? table : "unknown");
  return 0;
}

static int
is_zero(int fd, const char *device, bool *ret_is_zero, struct error **err)
{
  CLEANUP(freep) char *block = xcalloc(1, LOOKED_AT_BYTES);
  size_t len = 0;
  ssize_t got = 1;
  while (len < LOOKED_AT_BYTES &&
         (got = pread(fd, block + len, LOOKED_AT_BYTES - len, (off_t)len)) > 0)
    len += (size_t)got;
  if (got < 0)
    return error_set_errno(err, errno, "read '%s'", device);
  *ret_is_zero = len == 0 || (block[0] == 0 && memcmp(block, block + 1, len - 1) == 0);
  return 0;
}

/* Where nothing is known: is there really nothing? */
static int
look_closely(int fd, const char *device, struct signature *signature, struct error **err)
{
  bool all_zero = false;
  if (is_zero(fd, device, &all_zero, err) < 0)
    return -1;
  if (!all_zero) {
    signature->kind = SIGNATURE_OTHER;
    (void)snprintf(signature->name, sizeof(signature->name), "unknown data");
    return 0;
  }
  int r = ask_libblkid(fd, device, true, signature, err);
  if (r == 0)
    signature->kind = SIGNATURE_OTHER; /* no filesystem that can be mounted */
  return r < 0 ? -1 : 0;
}

int
signature_read(const char *device, struct signature *ret_signature, struct error **err)
{
  CLEANUP(closep) int fd = open(device, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "open '%s'", device);
  struct signature signature = {.kind = SIGNATURE_BLANK};
  int r = ask_libblkid(fd, device, false, &signature, err);
  if (r < 0 || (r == 1 && look_closely(fd, device, &signature, err) < 0))
    return -1;
  *ret_signature = signature;
  return 0;
}
