/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/content_stream.h"

void
content_stream_close(struct content_stream *content)
{
  if (content)
    content->ops->close(content);
}
