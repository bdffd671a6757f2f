/* SPDX-License-Identifier: Apache-2.0 */
/* What the process that does a transfer takes upon itself before it looks at the first byte of an
 * image, so that a hole in a parser gives nothing away:
 *
 *   files        Landlock: libraries, certificates, name service, and what is listed
 *   connections  only where the policy allows, decided by a process outside (connect_guard.h)
 *   system calls an allow list: no new processes, no programs, nothing of other processes, no
 * mounts privileges   another user where that is wanted, no capabilities, no way to get any
 *   resources    memory, descriptors, threads; no core file
 *
 * The order: start what has to run outside (foreign_helper.h), sandbox_enter() while there is one
 * thread, connect to the cluster and add its addresses, sandbox_seal(), open the source.
 *
 * A kernel or a container may lack one of these; that is a line in the log, or an error for those
 * who want it so. In builds with a sanitizer memory is not limited. */
#ifndef POPULATOR_TRANSFER_SANDBOX_H
#define POPULATOR_TRANSFER_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/sandbox/net_policy.h"

struct sandbox_options {
  /* Files, and folders with all below them; they end with NULL and may be NULL. */
  const char *const *read_paths;  /* ceph.conf, keyrings, CA bundles, an image file */
  const char *const *write_paths; /* where an export goes to */
  uid_t uid;                      /* for one that runs as root; 0: stay what we are */
  gid_t gid;
  uint64_t memory_bytes;            /* 0: SANDBOX_MEMORY_DEFAULT */
  const struct net_policy *network; /* where it may connect to; name servers are added */
  bool is_strict;                   /* what cannot be had is an error */
  /* Root stays root for files: those of others can be read (and written, where there are paths to
   * write), as far as Landlock lets it; without that, not. */
  bool keeps_file_rights;
};

/* Stacks of threads count as a whole here, so it is far more than is ever used at once. */
#define SANDBOX_MEMORY_DEFAULT ((uint64_t)4 << 30)

struct sandbox;

/* FAILED_PRECONDITION when there are other threads: they would stay outside. */
int sandbox_enter(const struct sandbox_options *options, struct sandbox **ret_sandbox,
                  struct error **err);
/* Adds to what may be connected to, until it is sealed. */
int sandbox_allow(struct sandbox *sandbox, const struct net_policy *more, struct error **err);
/* From here on nothing more is allowed: to be called before anything from outside is looked at. */
int sandbox_seal(struct sandbox *sandbox, struct error **err);
/* At the end of the process: nothing can be connected any more, the rest stays in force. */
void sandbox_free(struct sandbox *sandbox);
DEFINE_CLEANUP(struct sandbox *, sandbox_free)

#endif
