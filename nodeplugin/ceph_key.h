/* SPDX-License-Identifier: Apache-2.0 */
/* A Ceph key on its way into the kernel: from its file to a keyring of this process alone, by a
 * name that nobody else uses. It is on no command line and in no other file, and its bytes are
 * wiped from memory behind it. */
#ifndef NODEPLUGIN_CEPH_KEY_H
#define NODEPLUGIN_CEPH_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/ceph/cluster_config.h"

struct ceph_key {
  int32_t serial;
  char name[64]; /* for the option key=… */
};

/* Reads the key that the configuration names. FAILED_PRECONDITION when there is none. */
int ceph_key_load(const struct cluster_config *config, struct ceph_key *ret_key,
                  struct error **err);
void ceph_key_unload(struct ceph_key *key);

/* The key of `user` in the text of a keyring, base64; NULL when there is none. *ret_len is its
 * length; it points into text. */
const char *ceph_key_find(const char *keyring, const char *user, size_t *ret_len);
/* Decodes base64; -1 when it is none or does not fit. */
int ceph_key_decode(const char *text, size_t len, uint8_t *buf, size_t room, size_t *ret_len);

#endif
