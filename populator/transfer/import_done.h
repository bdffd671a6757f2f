/* SPDX-License-Identifier: Apache-2.0 */
/* What an import leaves on its image at its end, for whoever calls it again because he did not live
 * to hear of that. Such a call is answered from here: nothing is fetched again, and what was done
 * with the image since stays.
 *
 *   imprint.import.done           of an image that was there: its own id, and the call's token
 *   imprint.import.untold         of one that was made: its own id, and what makes it the same
 *   imprint.import.format         what the content was
 *   imprint.import.virtual-size
 *   imprint.import.digest         where it is known
 *
 * Clones inherit metadata: without the id their parent's import would be taken for their own. The
 * next import into the image removes the marks before it writes anything. Who makes an image is to
 * be refused when it is there, so the second mark goes as soon as the result is told. */
#ifndef POPULATOR_TRANSFER_IMPORT_DONE_H
#define POPULATOR_TRANSFER_IMPORT_DONE_H

#include "lib/base/string_map.h"
#include "populator/transfer/import.h"

#define IMPORT_DONE_TOKEN "imprint.import.done"
#define IMPORT_DONE_UNTOLD "imprint.import.untold"

/* By what an import is known again. */
struct import_done_mark {
  const char *key;  /* one of the above */
  const char *text; /* the token, or what makes it the same; NULL: it is not known again */
};

/* Added to `metadata`: the mark, and what tells people what was imported. Notes down in *result
 * what import_done_told() is to take off. */
void import_done_write(const char *image_id, const struct import_done_mark *mark,
                       struct import_result *result, struct string_map *metadata);
/* The keys that go when another import begins. */
void import_done_list(struct string_map *ret_keys);
/* Whether the last import into the image ended and had this mark; *ret_result is filled then. */
int import_done_look(struct location *location, const char *image,
                     const struct import_done_mark *mark, bool *ret_is_done,
                     struct import_result *ret_result, struct error **err);
/* The result has been told: the mark goes, if that is its time. Where it cannot be taken off, the
 * same import is answered once more. */
void import_done_told(struct location *location, const struct import_result *result);

#endif
