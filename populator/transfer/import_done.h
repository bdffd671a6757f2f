/* SPDX-License-Identifier: Apache-2.0 */
/* What an import into an image that was there leaves on it at its end, for whoever calls it again
 * because he did not live to hear of that: the call has a token, and one with the same token is
 * answered from here. Nothing is fetched again, and what was done with the image since stays.
 *
 *   imprint.import.done           the image's own id, and the token
 *   imprint.import.format         what the content was
 *   imprint.import.virtual-size
 *   imprint.import.digest         where it is known
 *
 * Clones inherit metadata: without the id their parent's import would be taken for their own. The
 * next import into the image removes the mark before it writes anything. */
#ifndef POPULATOR_TRANSFER_IMPORT_DONE_H
#define POPULATOR_TRANSFER_IMPORT_DONE_H

#include "lib/base/string_map.h"
#include "populator/transfer/import.h"

/* Added to `metadata`. token NULL: only what tells people what was imported. */
void import_done_write(const char *image_id, const char *token, const struct import_result *result,
                       struct string_map *metadata);
/* The keys that go when another import begins. */
void import_done_list(struct string_map *ret_keys);
/* Whether the last import into the image ended and had this token; *ret_result is filled then. */
int import_done_look(struct location *location, const char *image, const char *token,
                     bool *ret_is_done, struct import_result *ret_result, struct error **err);

#endif
