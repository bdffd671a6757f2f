/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as people write kubeconfig files and manifests, read into JSON. */
#ifndef LIB_KUBE_YAML_H
#define LIB_KUBE_YAML_H

#include <stddef.h>

#include "lib/base/error.h"
#include "lib/kube/json.h"

/* The first document. Anchors and aliases are refused: nobody needs them there, and they can be
 * made to blow up. */
int yaml_parse(const char *text, size_t len, struct json_object **ret_value, struct error **err);

#endif
