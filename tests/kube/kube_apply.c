/* SPDX-License-Identifier: Apache-2.0 */
/* Applies ConfigMaps, as the kubeconfig file says that is named: each line of the standard input is
 * one, and "ok" or what went wrong is a line of the output. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/memory.h"
#include "lib/kube/kube_write.h"

static void
apply(struct kube_client *client, const char *line)
{
  CLEANUP(json_object_putp) struct json_object *json = json_tokener_parse(line);
  CLEANUP(error_freep) struct error *failure = NULL;
  if (!json)
    (void)puts("no JSON");
  else if (kube_apply(client, &kube_config_maps, json, &failure) < 0)
    (void)puts(failure->message);
  else
    (void)puts("ok");
  (void)fflush(stdout);
}

int
main(int argc, char **argv)
{
  CLEANUP(error_freep) struct error *failure = NULL;
  CLEANUP(freep) char *line = NULL;
  struct kube_config config;
  size_t size = 0;
  if (argc != 2 || kube_config_load(argv[1], &config, &failure) < 0) {
    (void)fprintf(stderr, "%s\n", failure ? failure->message : "a kubeconfig file is needed");
    return 2;
  }
  struct kube_client *client = kube_client_new(&config);
  while (getline(&line, &size, stdin) > 0)
    apply(client, line);
  kube_client_free(client);
  kube_config_clear(&config);
  return 0;
}
