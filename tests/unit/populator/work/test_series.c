/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/work/series.h"

#include "tests/unit/unit.h"

static const struct series_meaning meanings[] = {
    {"a_total", "counter", "What is counted."},
    {"a", "gauge", "What there is."},
    {NULL, NULL, NULL},
};

static void
test_values_of_one_name_are_added(void)
{
  CLEANUP(series_freep) struct series *series = series_new();
  CLEANUP(buffer_clear) struct buffer text = {0};
  series_add(series, 1, "a{kind=\"%s\"}", "x");
  series_add(series, 2, "a{kind=\"%s\"}", "x");
  series_render(series, meanings, &text);
  CHECK_STRING(text.data, "# HELP a What there is.\n# TYPE a gauge\na{kind=\"x\"} 3\n");
}

/* Prometheus refuses lines of one metric that do not stand together. */
static void
test_each_metric_is_explained_once(void)
{
  CLEANUP(series_freep) struct series *series = series_new();
  CLEANUP(buffer_clear) struct buffer text = {0};
  series_add(series, 1, "a{kind=\"y\"}");
  series_add(series, 1, "a_total{kind=\"x\"}");
  series_add(series, 0, "a{kind=\"x\"}");
  series_render(series, meanings, &text);
  CHECK_STRING(text.data, "# HELP a_total What is counted.\n# TYPE a_total counter\n"
                          "a_total{kind=\"x\"} 1\n"
                          "# HELP a What there is.\n# TYPE a gauge\n"
                          "a{kind=\"x\"} 0\na{kind=\"y\"} 1\n");
}

UNIT_MAIN("populator/work/series", UNIT_TEST(test_values_of_one_name_are_added),
          UNIT_TEST(test_each_metric_is_explained_once))
