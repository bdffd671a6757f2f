/* SPDX-License-Identifier: Apache-2.0 */
/* Shows how a transfer comes along: on a terminal one line with bytes, rate and time left,
 * rewritten; with --json an object a line on standard output; else nothing. A thread of its own
 * while it runs. */
#ifndef CLI_PROGRESS_VIEW_H
#define CLI_PROGRESS_VIEW_H

#include <stdbool.h>

#include "lib/base/cleanup.h"
#include "populator/transfer/progress.h"

struct progress_view;

/* verb: "import", for the JSON. */
struct progress_view *progress_view_start(const char *verb, struct progress *progress,
                                          bool is_json);
/* Shows the end and stops. */
void progress_view_stop(struct progress_view *view);
DEFINE_CLEANUP(struct progress_view *, progress_view_stop)

#endif
