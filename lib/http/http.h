/* SPDX-License-Identifier: Apache-2.0 */
/* All that users of lib/http need.
 *
 * Everything that answers is hostile until proven otherwise: addresses are checked after resolving
 * and on each redirect, bodies are bounded, lengths, ranges and versions are compared with what was
 * asked for, and no message holds a secret. */
#ifndef LIB_HTTP_HTTP_H
#define LIB_HTTP_HTTP_H

#include "lib/http/http_challenge.h" // IWYU pragma: export
#include "lib/http/http_client.h"    // IWYU pragma: export
#include "lib/http/http_feed.h"      // IWYU pragma: export
#include "lib/http/http_probe.h"     // IWYU pragma: export
#include "lib/http/http_put.h"       // IWYU pragma: export
#include "lib/http/http_read.h"      // IWYU pragma: export
#include "lib/http/http_request.h"   // IWYU pragma: export
#include "lib/http/http_response.h"  // IWYU pragma: export
#include "lib/http/http_send.h"      // IWYU pragma: export
#include "lib/http/http_stream.h"    // IWYU pragma: export
#include "lib/http/s3.h"             // IWYU pragma: export

#endif
