/* SPDX-License-Identifier: Apache-2.0 */
/* A volume becomes a device of this node, and ceases to be one. */
#ifndef NODEPLUGIN_ATTACH_H
#define NODEPLUGIN_ATTACH_H

#include "nodeplugin/other_nodes.h"

struct attach_wish {
  bool is_read_only;
  enum attach_others others;
};

/* Finds the volume's device or makes it, by the mapper that suits, and waits until it has the
 * image's size. *ret_is_new says which. FAILED_PRECONDITION while another client has the image that
 * may not. */
int attach_volume(struct node *node, const struct volume *volume, const struct attach_wish *wish,
                  struct mapping *ret_mapping, bool *ret_is_new, struct error **err);
/* Another process for a device of nbd whose own has died. FAILED_PRECONDITION while somebody else
 * has an image that is this node's alone, and for good when another node has had it meanwhile. */
int attach_serve_again(struct node *node, const struct volume *volume, struct error **err);
/* Whether that was found out. */
bool attach_is_taken(const struct node *node, const struct volume_id *id);
/* FAILED_PRECONDITION, saying where, when the volume's device is mounted or published at another
 * path than `except` (NULL: at any). */
int attach_check_unused(struct node *node, const struct volume_id *id, const char *except,
                        struct error **err);
/* Takes the device away, whatever is left of it; fine when there is nothing. Asks nobody but this
 * node's kernel. FAILED_PRECONDITION while it is mounted or published, saying where. */
int detach_volume(struct node *node, const struct volume_id *id, struct error **err);

#endif
