/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/program/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/command_line.h"
#include "lib/base/option.h"
#include "lib/base/text.h"

#define UPLOAD_MAX_BYTES ((uint64_t)1 << 40)
#define DISCARD_S 600
#define DISCARD_S_MAX 604800
#define UPLOAD_EXPIRY_S 604800
#define UPLOAD_EXPIRY_S_MAX 31536000

static const char help_text[] =
    "Usage: imprint-populator [OPTION]...\n"
    "\n"
    "The Kubernetes controllers of Imprint: imports images, fills claims from them, exports and\n"
    "rolls back volumes. Runs beside imprint-controller.\n"
    "\n"
    "  --endpoint=unix:///PATH    socket of imprint-controller (default unix:///csi/csi.sock)\n"
    "  --config=FILE              the Ceph clusters, as imprint-controller has it\n"
    "                             (default /etc/imprint/clusters.json)\n"
    "  --worker=FILE              the imprint command, a whole path (default /usr/bin/imprint)\n"
    "  --max-transfers=N          imports and exports at once, all but one of them\n"
    "                             of one server at most; others wait (default 4)\n"
    "  --discard-timeout=SECONDS  how long a deleted export waits for its store to let its "
    "unfinished\n"
    "                             upload be aborted (default 600)\n"
    "  --kubeconfig=FILE          (default: $KUBECONFIG, or this pod's service account)\n"
    "  --identity=NAME            who this is among several, on leases (default $HOSTNAME)\n"
    "  --driver-name=NAME         (default imprint.csi.hypercloud.tmaxanc.com)\n"
    "  --object-store=URL         S3 store for objectStore sources that name none\n"
    "  --object-store-region=NAME\n"
    "  --object-store-secret=NAME Secret with its keys, in our own namespace\n"
    "  --metrics-listen=ADDR:PORT /metrics, /healthz and /readyz over HTTP; :PORT for all "
    "addresses\n"
    "  --upload-listen=ADDR:PORT  HTTPS server that images are uploaded to, and exports fetched "
    "from\n"
    "  --upload-url=URL           how clients reach it, for the status of exports\n"
    "  --upload-certificate=FILE  its certificate and …\n"
    "  --upload-key=FILE          … key, in PEM; read again when they change\n"
    "  --upload-max-size=SIZE     of an uploaded file (default 1Ti)\n"
    "  --upload-expiry=SECONDS    how long a part of a file is kept behind its last byte; 0: for "
    "ever\n"
    "                             (default 604800, a week)\n"
    "  --allow-local-addresses    let images come from loopback, link-local and metadata "
    "addresses\n"
    "  --allow-network=NETWORK[:PORTS],…\n"
    "                             what transfers may connect to beside what they name\n"
    "  --host-images=DIR          folder of nodes that hostPath images may come from (default "
    "none)\n"
    "  --node=NAME                read hostPath images of this node, and do nothing else\n"
    "  --golden-images=NAME       ConfigMap of our own namespace with golden images to make, and "
    "ClusterRole\n"
    "                             that they belong to; the chart writes both (default none)\n"
    "  --without-cdi              leave DataVolumes, DataSources and DataImportCrons to others\n"
    "  --log-level=LEVEL          error, warn, info or debug (default info)\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start, 2 for a bad command line.\n";

enum {
  OPTION_ENDPOINT = 1,
  OPTION_CONFIG,
  OPTION_WORKER,
  OPTION_MAX_TRANSFERS,
  OPTION_DISCARD_TIMEOUT,
  OPTION_KUBECONFIG,
  OPTION_IDENTITY,
  OPTION_DRIVER_NAME,
  OPTION_STORE,
  OPTION_STORE_REGION,
  OPTION_STORE_SECRET,
  OPTION_METRICS_LISTEN,
  OPTION_UPLOAD_LISTEN,
  OPTION_UPLOAD_CERTIFICATE,
  OPTION_UPLOAD_KEY,
  OPTION_UPLOAD_URL,
  OPTION_UPLOAD_MAX_SIZE,
  OPTION_UPLOAD_EXPIRY,
  OPTION_ALLOW_LOCAL,
  OPTION_ALLOW_NETWORK,
  OPTION_GOLDEN_IMAGES,
  OPTION_WITHOUT_CDI,
  OPTION_HOST_IMAGES,
  OPTION_NODE,
  OPTION_LOG_LEVEL,
};

static const struct option long_options[] = {
    {"endpoint", required_argument, NULL, OPTION_ENDPOINT},
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"worker", required_argument, NULL, OPTION_WORKER},
    {"max-transfers", required_argument, NULL, OPTION_MAX_TRANSFERS},
    {"discard-timeout", required_argument, NULL, OPTION_DISCARD_TIMEOUT},
    {"kubeconfig", required_argument, NULL, OPTION_KUBECONFIG},
    {"identity", required_argument, NULL, OPTION_IDENTITY},
    {"driver-name", required_argument, NULL, OPTION_DRIVER_NAME},
    {"object-store", required_argument, NULL, OPTION_STORE},
    {"object-store-region", required_argument, NULL, OPTION_STORE_REGION},
    {"object-store-secret", required_argument, NULL, OPTION_STORE_SECRET},
    {"metrics-listen", required_argument, NULL, OPTION_METRICS_LISTEN},
    {"upload-listen", required_argument, NULL, OPTION_UPLOAD_LISTEN},
    {"upload-certificate", required_argument, NULL, OPTION_UPLOAD_CERTIFICATE},
    {"upload-key", required_argument, NULL, OPTION_UPLOAD_KEY},
    {"upload-url", required_argument, NULL, OPTION_UPLOAD_URL},
    {"upload-max-size", required_argument, NULL, OPTION_UPLOAD_MAX_SIZE},
    {"upload-expiry", required_argument, NULL, OPTION_UPLOAD_EXPIRY},
    {"allow-local-addresses", no_argument, NULL, OPTION_ALLOW_LOCAL},
    {"allow-network", required_argument, NULL, OPTION_ALLOW_NETWORK},
    {"golden-images", required_argument, NULL, OPTION_GOLDEN_IMAGES},
    {"without-cdi", no_argument, NULL, OPTION_WITHOUT_CDI},
    {"host-images", required_argument, NULL, OPTION_HOST_IMAGES},
    {"node", required_argument, NULL, OPTION_NODE},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    COMMAND_LINE_END,
};

/* Where the text of an option goes; NULL for one that is no text. */
static const char **
text_of(int option, struct options *options)
{
  switch (option) {
  case OPTION_ENDPOINT:
    return &options->populator.endpoint;
  case OPTION_CONFIG:
    return &options->populator.clusters_file;
  case OPTION_WORKER:
    return &options->populator.worker;
  case OPTION_KUBECONFIG:
    return &options->kubeconfig;
  case OPTION_IDENTITY:
    return &options->populator.identity;
  case OPTION_DRIVER_NAME:
    return &options->populator.driver;
  case OPTION_STORE:
    return &options->populator.object_store.endpoint;
  case OPTION_STORE_REGION:
    return &options->populator.object_store.region;
  case OPTION_STORE_SECRET:
    return &options->populator.object_store.secret;
  case OPTION_METRICS_LISTEN:
    return &options->metrics_listen;
  case OPTION_UPLOAD_LISTEN:
    return &options->upload_listen;
  case OPTION_UPLOAD_CERTIFICATE:
    return &options->upload_certificate;
  case OPTION_UPLOAD_KEY:
    return &options->upload_key;
  case OPTION_UPLOAD_URL:
    return &options->upload_url;
  case OPTION_GOLDEN_IMAGES:
    return &options->populator.golden_images;
  case OPTION_HOST_IMAGES:
    return &options->populator.host_images;
  case OPTION_NODE:
    return &options->populator.node;
  case OPTION_ALLOW_NETWORK:
    return &options->populator.allow_network;
  default:
    return NULL;
  }
}

static int
parse_seconds(const char *name, const char *value, int max_s, int64_t *ret_s, struct error **err)
{
  uint64_t number;
  if (option_number(name, value, 0, (uint64_t)max_s, &number, err) < 0)
    return -1;
  *ret_s = (int64_t)number;
  return 0;
}

static int
take(int option, const char *value, void *target, struct error **err)
{
  struct options *options = target;
  const char **text = text_of(option, options);
  if (text) {
    *text = value;
    return 0;
  }
  switch (option) {
  case OPTION_ALLOW_LOCAL:
    options->populator.allow_local_addresses = true;
    return 0;
  case OPTION_WITHOUT_CDI:
    options->populator.is_without_cdi = true;
    return 0;
  case OPTION_MAX_TRANSFERS:
    return option_number("max-transfers", value, 1, 256, &options->populator.max_transfers, err);
  case OPTION_DISCARD_TIMEOUT:
    return parse_seconds("discard-timeout", value, DISCARD_S_MAX, &options->populator.discard_s,
                         err);
  case OPTION_UPLOAD_EXPIRY:
    return parse_seconds("upload-expiry", value, UPLOAD_EXPIRY_S_MAX,
                         &options->populator.upload_expiry_s, err);
  case OPTION_UPLOAD_MAX_SIZE:
    if (text_to_bytes(value, &options->upload_max_bytes) == 0 && options->upload_max_bytes > 0)
      return 0;
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--upload-max-size: a size like 100Gi is needed, not '%s'", value);
  case OPTION_LOG_LEVEL:
    return option_log_level(value, &options->log_level, err);
  default:
    return error_set(err, ERROR_INVALID_ARGUMENT, "try --help");
  }
}

static int
check_host_images(const struct populator_options *options, struct error **err)
{
  if (options->node && !options->host_images)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--node needs --host-images");
  if (options->host_images && (*options->host_images != '/' || !options->host_images[1]))
    return error_set(err, ERROR_INVALID_ARGUMENT,
                     "--host-images: the path of a folder below / is needed, not '%s'",
                     options->host_images);
  return 0;
}

/* It is run by its path, wherever this program was started. */
static int
check_worker(const char *path, struct error **err)
{
  if (option_path("worker", path, &path, err) < 0)
    return -1;
  if (access(path, X_OK) < 0)
    return error_set(err, ERROR_INVALID_ARGUMENT, "--worker: '%s': %s", path, strerror(errno));
  return 0;
}

static const struct command_line command_line = {
    .program = "imprint-populator", .help = help_text, .options = long_options, .take = take};

int
options_parse(int argc, char **argv, struct options *ret_options, bool *ret_is_over,
              struct error **err)
{
  const char *host = getenv("HOSTNAME");
  *ret_options = (struct options){
      .populator = {.endpoint = "unix:///csi/csi.sock",
                    .clusters_file = "/etc/imprint/clusters.json",
                    .worker = "/usr/bin/imprint",
                    .driver = "imprint.csi.hypercloud.tmaxanc.com",
                    .identity = host && *host ? host : "imprint-populator",
                    .max_transfers = 4,
                    .discard_s = DISCARD_S,
                    .upload_expiry_s = UPLOAD_EXPIRY_S},
      .upload_max_bytes = UPLOAD_MAX_BYTES,
      .log_level = LOG_LEVEL_INFO,
  };
  if (command_line_read(&command_line, argc, argv, ret_options, ret_is_over, err) < 0)
    return -1;
  if (*ret_is_over)
    return 0;
  if (ret_options->upload_listen && (!ret_options->upload_certificate || !ret_options->upload_key))
    return error_set(
        err, ERROR_INVALID_ARGUMENT,
        "--upload-listen needs --upload-certificate and --upload-key: tokens are never "
        "taken without TLS");
  if (ret_options->upload_listen)
    ret_options->populator.download_url = ret_options->upload_url ? ret_options->upload_url : "";
  if (check_host_images(&ret_options->populator, err) < 0 ||
      check_worker(ret_options->populator.worker, err) < 0)
    return -1;
  return 0;
}
