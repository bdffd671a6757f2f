/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/s3_xml.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "tests/unit/unit.h"

static void
check_text(const char *document, const char *name, const char *expected)
{
  CLEANUP(freep) char *text = s3_xml_text(s3_xml_span(document), name);
  CHECK_STRING(text, expected);
}

static void
test_the_text_of_an_element(void)
{
  check_text("<?xml version=\"1.0\"?>\n<R xmlns=\"x\"><UploadId>2~abc</UploadId></R>", "UploadId",
             "2~abc");
  check_text("<A >x</A>", "A", "x");
  check_text("<A\n a='1' b='2'>x</A>", "A", "x");
  check_text("<AB>y</AB><A>x</A>", "A", "x");
  check_text("<A></A>", "A", "");
  check_text("<A/><A>x</A>", "A", "x");
  check_text("<A>x", "A", NULL);
  check_text("<A", "A", NULL);
  check_text("", "A", NULL);
  check_text("A", "A", NULL);
  check_text("</A><A>", "A", NULL);
}

static void
test_entities(void)
{
  check_text("<A>&quot;e&quot; &lt;&gt;&amp;&apos;</A>", "A", "\"e\" <>&'");
  check_text("<A>&#65;&#x42;&#xe9;&#x20ac;&#x1f4be;</A>", "A",
             "AB\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbe");
  check_text("<A>&amp;lt;</A>", "A", "&lt;");
  check_text("<A>&nbsp; & &#0; &#x110000; &#; &;</A>", "A", "&nbsp; & &#0; &#x110000; &#; &;");
}

static void
test_elements_one_after_the_other(void)
{
  struct s3_span rest = s3_xml_span("<P>1</P> <P>2</P><Q>x</Q><P>3</P>");
  struct s3_span content;
  char seen[8] = "";
  for (size_t i = 0; i < 7 && s3_xml_find(rest, "P", &content, &rest); i++)
    seen[i] = content.at[0];
  CHECK_STRING(seen, "123");
}

static void
test_errors_of_a_store(void)
{
  static const struct {
    const char *document;
    const char *error;
  } rows[] = {
      {"<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>", "NoSuchKey: gone"},
      {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Hos", "AccessDenied"},
      {"<Error><Message>only</Message></Error>", NULL},
      {"<Errors><Code>x</Code></Errors>", NULL},
      {"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    CLEANUP(freep) char *error = s3_xml_error(rows[i].document);
    CHECK_STRING(error, rows[i].error);
  }
}

static void
test_escaping_and_back(void)
{
  static const char text[] = "\"a\" & <b> 'c'";
  CLEANUP(freep) char *escaped = s3_xml_escape(text);
  CU_ASSERT_PTR_NULL(strpbrk(escaped, "<>\"'"));
  CLEANUP(freep) char *empty = s3_xml_escape("");
  CHECK_STRING(empty, "");
  char document[128];
  (void)snprintf(document, sizeof(document), "<A>%s</A>", escaped);
  check_text(document, "A", text);
}

UNIT_MAIN("lib/http/s3_xml", UNIT_TEST(test_the_text_of_an_element), UNIT_TEST(test_entities),
          UNIT_TEST(test_elements_one_after_the_other), UNIT_TEST(test_errors_of_a_store),
          UNIT_TEST(test_escaping_and_back))
