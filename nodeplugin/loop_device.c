/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeplugin/loop_device.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "nodeplugin/sys_call.h"
#include "nodeplugin/sysfs.h"

/* Others ask for a free one at the same time. */
#define ATTACH_TRIES 64
#define DETACH_WAIT_MS 10000
#define PAUSE_MS 20

bool
loop_device_is_available(void)
{
  return access("/dev/loop-control", F_OK) == 0;
}

/* Whether /sys/block/NAME has this file behind it. */
static bool
is_behind(const char *name, const char *file)
{
  CLEANUP(freep) char *folder = xasprintf("/sys/block/%s/loop", name);
  return sysfs_is(folder, "backing_file", file);
}

char *
loop_device_find(const char *file)
{
  struct sysfs_names names;
  char *device = NULL;
  sysfs_list("/sys/block", "loop", &names);
  for (size_t i = 0; i < names.count && !device; i++) {
    if (is_behind(names.items[i], file))
      device = xasprintf("/dev/%s", names.items[i]);
  }
  sysfs_names_clear(&names);
  return device;
}

bool
loop_device_is_read_only(const char *device)
{
  CLEANUP(freep) char *folder = xasprintf("/sys/block/%s", device + strlen("/dev/"));
  return sysfs_is(folder, "ro", "1");
}

/* -1 with EBUSY when another one was quicker. */
static int
try_attach(int control, int file_fd, const struct loop_config *config, char **ret_device)
{
  int number = ioctl(control, LOOP_CTL_GET_FREE);
  if (number < 0)
    return -1;
  CLEANUP(freep) char *device = xasprintf("/dev/loop%d", number);
  bool is_read_only = config->info.lo_flags & LO_FLAGS_READ_ONLY;
  CLEANUP(closep) int fd = open(device, (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
  if (fd < 0)
    return -1;
  struct loop_config copy = *config;
  copy.fd = (unsigned)file_fd;
  if (SYS_CALL(ioctl(fd, LOOP_CONFIGURE, &copy)) < 0) {
    copy.info.lo_flags &= ~(unsigned)LO_FLAGS_DIRECT_IO; /* not every file can do that */
    if (errno != EINVAL || SYS_CALL(ioctl(fd, LOOP_CONFIGURE, &copy)) < 0)
      return -1;
  }
  *ret_device = TAKE(device);
  return 0;
}

int
loop_device_attach(const char *file, bool is_read_only, char **ret_device, struct error **err)
{
  CLEANUP(closep) int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0)
    return error_set_errno(err, errno, "open /dev/loop-control");
  CLEANUP(closep) int fd = open(file, (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
  if (fd < 0)
    return error_set_errno(err, errno, "open '%s'", file);
  struct loop_config config = {.info.lo_flags =
                                   LO_FLAGS_DIRECT_IO | (is_read_only ? LO_FLAGS_READ_ONLY : 0)};
  /* for people who run losetup -l on an old kernel; sysfs has the whole path */
  memcpy(config.info.lo_file_name, file, strnlen(file, LO_NAME_SIZE - 1));
  for (int i = 0; i < ATTACH_TRIES; i++) {
    if (try_attach(control, fd, &config, ret_device) == 0)
      return 0;
    if (errno != EBUSY)
      break;
  }
  return error_set_errno(err, errno, "make a loop device of '%s'", file);
}

/* It goes when the last one closes it, which may be us. 0 or the errno. */
static int
clear(const char *device)
{
  CLEANUP(closep) int fd = open(device, O_RDONLY | O_CLOEXEC);
  return fd < 0 || SYS_CALL(ioctl(fd, LOOP_CLR_FD, 0)) < 0 ? errno : 0;
}

int
loop_device_detach(const char *device, const char *file, struct error **err)
{
  const char *name = device + strlen("/dev/");
  int64_t deadline_ms = clock_now_ms() + DETACH_WAIT_MS;
  while (is_behind(name, file)) {
    int cause = clear(device);
    if (cause != 0 && cause != ENXIO && cause != EBUSY)
      return error_set_errno(err, cause, "take '%s' away", device);
    if (!is_behind(name, file))
      return 0;
    if (clock_now_ms() > deadline_ms)
      return error_set(err, ERROR_FAILED_PRECONDITION, "'%s' is still open somewhere", device);
    (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
  }
  return 0;
}

void
loop_device_refresh(const char *device)
{
  CLEANUP(closep) int fd = open(device, O_RDONLY | O_CLOEXEC);
  if (fd >= 0)
    (void)SYS_CALL(ioctl(fd, LOOP_SET_CAPACITY, 0));
}
