/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses a URL from a user must not lead to: this machine itself, its links, and the
 * metadata services of clouds, which hand credentials to whoever asks. Private networks are fine:
 * image servers stand there.
 *
 * It is asked for each address that is about to be connected to, so neither a name that resolves to
 * one of them nor one that changes its address between two questions gets past it. */
#ifndef LIB_HTTP_ADDRESS_POLICY_H
#define LIB_HTTP_ADDRESS_POLICY_H

#include <sys/socket.h>

/* Why the address is refused ("a loopback address"), or NULL when it is fine. */
const char *address_policy_refusal(const struct sockaddr *address);
/* The same of a host as a URL names it, for when a proxy will resolve it: an address, or a name
 * that means this machine everywhere. */
const char *address_policy_refusal_of_host(const char *host);

#endif
