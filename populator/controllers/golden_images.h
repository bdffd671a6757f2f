/* SPDX-License-Identifier: Apache-2.0 */
/* Golden images of the chart's values. */
#ifndef POPULATOR_CONTROLLERS_GOLDEN_IMAGES_H
#define POPULATOR_CONTROLLERS_GOLDEN_IMAGES_H

#include "populator/controllers/populator.h"

/* Of a DataImportCron or a DataSource: the values may ask for it. */
void golden_images_object_changed(struct populator *populator, const struct kube_object *before,
                                  const struct kube_object *after);

#endif
