/* SPDX-License-Identifier: Apache-2.0 */
/* The little XML that S3 stores speak: elements with text in them, no namespaces, attributes
 * without meaning. It is looked through for what is wanted, not validated; a store that answers
 * something else has elements missing. */
#ifndef LIB_HTTP_S3_XML_H
#define LIB_HTTP_S3_XML_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of a document. */
struct s3_span {
  const char *at;
  size_t len;
};

struct s3_span s3_xml_span(const char *text);

/* The content of the first element of that name, and what stands behind it. False when there is
 * none. */
bool s3_xml_find(struct s3_span in, const char *name, struct s3_span *ret_content,
                 struct s3_span *ret_behind);
/* Its text, entities replaced; NULL when there is none, or elements are in it. To be freed. */
char *s3_xml_text(struct s3_span in, const char *name);

/* "NoSuchKey: the text that goes with it" of an error document, NULL when it is none. To be freed.
 */
char *s3_xml_error(const char *document);

/* With '&', '<', '>' and '"' as entities. To be freed. */
char *s3_xml_escape(const char *text);

#endif
