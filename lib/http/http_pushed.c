/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/http_pushed.h"

#include <curl/curl.h>
#include <string.h>

size_t
http_pushed_read(char *buf, size_t size, size_t count, void *arg)
{
  struct http_pushed *pushed = arg;
  pushed->is_wanted = true;
  if (pushed->given == pushed->len)
    return 0;
  if (pushed->data_len == 0) {
    pushed->is_paused = true;
    return CURL_READFUNC_PAUSE;
  }
  size_t room = size * count;
  size_t len = pushed->data_len < room ? pushed->data_len : room;
  memcpy(buf, pushed->data, len);
  pushed->data += len;
  pushed->data_len -= len;
  pushed->given += len;
  return len;
}
