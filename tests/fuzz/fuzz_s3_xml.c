/* SPDX-License-Identifier: Apache-2.0 */
/* What a store answers, looked through as uploads do. Content lies inside the document, elements
 * come in order, and what is escaped comes back as it was. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/memory.h"
#include "lib/http/s3_xml.h"
#include "tests/fuzz/fuzz.h"

static void
try_parts(struct s3_span document)
{
  struct s3_span part;
  size_t left = document.len;
  for (struct s3_span rest = document; s3_xml_find(rest, "Part", &part, &rest);) {
    CHECK(part.at >= document.at && part.at + part.len <= document.at + document.len);
    CHECK(rest.len < left && rest.at + rest.len == document.at + document.len);
    left = rest.len;
    CLEANUP(freep) char *etag = s3_xml_text(part, "ETag");
    CHECK(!etag || strlen(etag) <= part.len);
  }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  CLEANUP(freep) char *text = xstrndup((const char *)data, size);
  struct s3_span document = s3_xml_span(text);
  try_parts(document);
  CLEANUP(freep) char *id = s3_xml_text(document, "UploadId");
  CHECK(!id || strlen(id) <= document.len);
  CLEANUP(freep) char *error = s3_xml_error(text);
  CHECK(!error || strlen(error) < document.len);
  CLEANUP(freep) char *escaped = s3_xml_escape(text);
  CLEANUP(freep) char *wrapped = xasprintf("<A>%s</A>", escaped);
  CLEANUP(freep) char *back = s3_xml_text(s3_xml_span(wrapped), "A");
  CHECK(back && strcmp(back, text) == 0);
  return 0;
}
