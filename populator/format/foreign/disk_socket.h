/* SPDX-License-Identifier: Apache-2.0 */
/* Whole messages on a socket whose other end may do what it likes. */
#ifndef POPULATOR_FORMAT_FOREIGN_DISK_SOCKET_H
#define POPULATOR_FORMAT_FOREIGN_DISK_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/* All len bytes, or false: it hung up, or worse. */
bool disk_socket_read(int fd, void *buf, size_t len);
bool disk_socket_write(int fd, const void *buf, size_t len);
/* Reads bytes that nobody wants. */
bool disk_socket_skip(int fd, size_t len);

#endif
