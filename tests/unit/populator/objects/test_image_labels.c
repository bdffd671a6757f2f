/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/objects/image_labels.h"

#include <string.h>

#include "tests/unit/unit.h"

static struct json_object *
parse(const char *text)
{
  struct json_object *json = NULL;
  REQUIRE(json_parse(text, strlen(text), &json, NULL) == 0);
  return json;
}

static void
test_the_environment_of_an_image_becomes_labels(void)
{
  CLEANUP(json_object_putp)
  struct json_object *env =
      parse("{\"INSTANCETYPE_KUBEVIRT_IO_DEFAULT_INSTANCETYPE\":\"u1.small\","
            "\"INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE_KIND\":\"VirtualMachinePreference\","
            "\"OTHER_THING_KUBEVIRT_IO_SIZE\":\"\","
            "\"PATH\":\"/bin\",\"_KUBEVIRT_IO_X\":\"y\",\"A_KUBEVIRT_IO_\":\"y\","
            "\"A_KUBEVIRT_IO_B\":\"not a label!\",\"B_KUBEVIRT_IO_C\":\"ends-badly-\"}");
  CLEANUP(json_object_putp) struct json_object *labels = json_object_new_object();
  image_labels_of_env(env, labels);
  CHECK_STRING(json_text(labels, "instancetype.kubevirt.io/default-instancetype"), "u1.small");
  CHECK_STRING(json_text(labels, "instancetype.kubevirt.io/default-preference-kind"),
               "VirtualMachinePreference");
  CHECK_STRING(json_text(labels, "other.thing.kubevirt.io/size"), "");
  CU_ASSERT_EQUAL(json_object_object_length(labels), 3);
  image_labels_of_env(NULL, labels);
}

static void
test_only_defaults_for_machines_are_carried(void)
{
  CLEANUP(json_object_putp)
  struct json_object *from = parse("{\"instancetype.kubevirt.io/default-preference\":\"fedora\","
                                   "\"team\":\"blue\",\"instancetype.kubevirt.io/x\":\"y\"}");
  CLEANUP(json_object_putp) struct json_object *labels = json_object_new_object();
  CU_ASSERT_TRUE(image_labels_add(from, labels));
  CU_ASSERT_EQUAL(json_object_object_length(labels), 1);
  CHECK_STRING(json_text(labels, "instancetype.kubevirt.io/default-preference"), "fedora");
  CU_ASSERT_FALSE(image_labels_add(NULL, labels));
}

UNIT_MAIN("populator/objects/image_labels",
          UNIT_TEST(test_the_environment_of_an_image_becomes_labels),
          UNIT_TEST(test_only_defaults_for_machines_are_carried))
