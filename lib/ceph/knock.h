/* SPDX-License-Identifier: Apache-2.0 */
/* Knocking at an image, and hearing it.
 *
 * Who wants to know whether anybody has an image open knocks at its header (image_clients.h), and
 * librbd and the kernel answer for whoever does, without telling him. Somebody who has it open for
 * work that can wait listens for himself: he hears of the one at the door and makes room. He
 * listens before he opens the image and looks for others after that, so each sees the other,
 * whoever comes first. */
#ifndef LIB_CEPH_KNOCK_H
#define LIB_CEPH_KNOCK_H

#include "lib/ceph/location.h"

/* What librbd itself has for a message that it does not know. It is answered at once, by librbd and
 * by the kernel; for "the header has changed" they would read the header first. */
#define KNOCK_MESSAGE UINT32_MAX

struct knock_listener;

/* NOT_FOUND when there is no such image. Shows as a client of the image, as having it open does. */
int knock_listen(struct location *location, const char *image_id,
                 struct knock_listener **ret_listener, struct error **err);
void knock_listener_close(struct knock_listener *listener);
DEFINE_CLEANUP(struct knock_listener *, knock_listener_close)

/* Whether another client has knocked. So it is, too, when it may have gone unheard. May be called
 * anywhere. */
bool knock_was_heard(const struct knock_listener *listener);
/* Whether another client has asked for the image's exclusive lock, to write. */
bool knock_lock_was_wanted(const struct knock_listener *listener);

#endif
