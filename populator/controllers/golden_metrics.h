/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers about golden images: which are out of date, fail, or are old. */
#ifndef POPULATOR_CONTROLLERS_GOLDEN_METRICS_H
#define POPULATOR_CONTROLLERS_GOLDEN_METRICS_H

#include "populator/controllers/populator.h"
#include "populator/work/series.h"

/* What they mean; to be listed with the others. */
#define GOLDEN_METRICS_MEANINGS                                                                    \
  {"imprint_data_import_cron_outdated", "gauge",                                                   \
   "1 while the newest version of an image is not in service, or not known."},                     \
      {"imprint_data_import_cron_failed_polls", "gauge",                                           \
       "How often in a row the source of an image could not be asked."},                           \
      {"imprint_data_import_cron_failed_imports", "gauge",                                         \
       "Imports of a DataImportCron that failed or are tried again."},                             \
      {"imprint_data_import_cron_image_age_seconds", "gauge",                                      \
       "How long ago the version in service was imported."},                                       \
      {"imprint_golden_images_refused", "gauge",                                                   \
       "Golden images of the chart's values that cannot be made."},                                \
  {                                                                                                \
    "imprint_data_source_not_ready", "gauge", "1 while no volume can be made from it."             \
  }

void golden_metrics_add(struct populator *populator, struct series *gauges);

#endif
