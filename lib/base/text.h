/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and small conversions of text from outside: strict, bounded, no locale. */
#ifndef LIB_BASE_TEXT_H
#define LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Valid UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF). */
bool text_is_utf8(const char *s, size_t len);
/* How many bytes of s, at most max_len, are whole characters of valid UTF-8. */
size_t text_utf8_prefix(const char *s, size_t max_len);
/* Makes s valid UTF-8 on one line, in place: what is neither becomes a blank or a '?'. For texts
 * that hold words from outside, or that were cut at a number of bytes. */
void text_make_line(char *s);
/* A letter or digit followed by letters, digits, '.', '_', '-': safe in an RBD name, an id, a path.
 */
bool text_is_plain_name(const char *s, size_t max_len);
bool text_starts_with(const char *s, const char *prefix);

/* The whole of s, decimal digits only (base 10) or lower-case hexadecimal (base 16); -1 when it is
 * anything else or does not fit. */
int text_to_u64(const char *s, unsigned base, uint64_t *ret_value);
/* "512", "4Ki", "4Mi", "2Gi", "1Ti", "1k", "1M", "1G", "1T": -1 when it is anything else. */
int text_to_bytes(const char *s, uint64_t *ret_bytes);

/* Room for the longest result of text_of_bytes(). */
#define TEXT_BYTES_MAX 48
/* "1 GiB" where it is exact, else "1073741825 bytes": for messages. Returns buf. */
const char *text_of_bytes(uint64_t bytes, char buf[TEXT_BYTES_MAX]);
/* "1.6 GiB", rounded: for people. Returns buf. */
const char *text_of_about_bytes(uint64_t bytes, char buf[TEXT_BYTES_MAX]);

#endif
