/* SPDX-License-Identifier: Apache-2.0 */
/* Tells of a server that does not answer while it is asked again: minutes may pass before that is
 * given up. */
#ifndef CLI_RETRY_VIEW_H
#define CLI_RETRY_VIEW_H

#include "lib/http/http_client.h"

/* For http_options.on_retry: a line for people, on standard error from the second failure in a row
 * on, or {"event":"retry","attempt":…,"message":…} on standard output. */
http_retry_listener *retry_view(bool is_json);

#endif
