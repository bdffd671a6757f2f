/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this is a build with a sanitizer. Its run-time reserves terabytes of address space, reads
 * /proc, and looks for leaks with a process that traces this one; so in such a build memory is not
 * limited, and system calls that only it makes are let through. Such a build is never shipped. */
#ifndef LIB_SANDBOX_SANITIZER_H
#define LIB_SANDBOX_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_HAS_SANITIZER 1
#endif
#endif

#ifndef SANDBOX_HAS_SANITIZER
#define SANDBOX_HAS_SANITIZER 0
#endif

#endif
