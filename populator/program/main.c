/* SPDX-License-Identifier: Apache-2.0 */
/* imprint-populator: starts, waits for a signal, stops in order. */
#include <signal.h>
#include <stdio.h>

#include "lib/base/program.h"
#include "populator/program/monitor.h"
#include "populator/program/options.h"
#include "populator/upload/upload_server.h"

/* Nothing, when there are to be no uploads. */
static int
start_uploads(const struct options *options, struct populator *populator,
              struct upload_server **ret_server, struct error **err)
{
  const struct upload_server_options server = {.listen = options->upload_listen,
                                               .certificate = options->upload_certificate,
                                               .key = options->upload_key,
                                               .max_bytes = options->upload_max_bytes,
                                               .max_uploads =
                                                   (unsigned)options->populator.max_transfers,
                                               .identity = options->populator.identity,
                                               .worker = options->populator.worker,
                                               .populator = populator};
  return options->upload_listen ? upload_server_start(&server, ret_server, err) : 0;
}

static int
serve(struct options *options, const sigset_t *signals, struct error **err)
{
  struct populator *populator = populator_new(&options->populator);
  struct http_server *monitor = NULL;
  struct upload_server *uploads = NULL;
  int r = options->metrics_listen ? monitor_start(options->metrics_listen, populator, &monitor, err)
                                  : 0;
  if (r == 0)
    r = populator_start(populator, err);
  if (r == 0)
    r = start_uploads(options, populator, &uploads, err);
  if (r == 0) {
    if (options->populator.node)
      log_info("reading images from files of node %s as %s", options->populator.node,
               options->populator.identity);
    else
      log_info("looking after images and claims of %s as %s", options->populator.driver,
               options->populator.identity);
    int signal = 0;
    (void)sigwait(signals, &signal);
    log_info("signal %d: stopping", signal);
  }
  upload_server_stop(uploads);
  http_server_stop(monitor);
  populator_stop(populator);
  populator_free(populator);
  return r;
}

static int
run(struct options *options, struct error **err)
{
  sigset_t signals = program_block_signals();
  struct kube_config config;
  if (kube_config_load(options->kubeconfig, &config, err) < 0)
    return -1;
  struct kube_client *client = kube_client_new(&config);
  options->populator.client = client;
  int r = serve(options, &signals, err);
  kube_client_free(client);
  kube_config_clear(&config);
  return r;
}

int
main(int argc, char **argv)
{
  CLEANUP(error_freep) struct error *err = NULL;
  struct options options;
  bool is_over;
  program_bound_memory();
  if (options_parse(argc, argv, &options, &is_over, &err) < 0) {
    (void)fprintf(stderr, "imprint-populator: %s\n", err->message);
    return 2;
  }
  if (is_over)
    return 0;
  log_set_level(options.log_level);
  if (run(&options, &err) < 0) {
    log_error("cannot start: %s", err->message);
    return 1;
  }
  log_info("stopped");
  return 0;
}
