/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source_flags.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/aws_profile.h"
#include "cli/ceph_flags.h"
#include "lib/base/cleanup.h"
#include "lib/base/memory.h"

#define STALL_MAX_S 1000000

static const char *ca_bundle;
static const char *proxy;
static const char *ca_pem;
static const char *user;
static const char *password;
static const char *bearer;
static struct flag_list headers;
static bool allow_local;
static uint64_t retries = HTTP_RETRIES_DEFAULT;
static uint64_t stall_s;
static const char *identity;
static const char *s3_endpoint;
static const char *s3_region;
static const char *s3_access_key;
static const char *s3_secret_key;
static const char *s3_session_token;
static bool s3_path_style;
static bool s3_host_style;
static const char *platform;
static const char *path_in_image;
static bool registry_insecure;
static const char *registry_auth_file;

static const struct flag flags[] = {
    {"ca-bundle", FLAG_TEXT, &ca_bundle, "FILE", "certificates to trust beside the system's", NULL},
    {"proxy", FLAG_TEXT, &proxy, "URL", "proxy for every request (default: $https_proxy …)", NULL},
    {"ca-pem", FLAG_SECRET, &ca_pem, NULL, "certificates to trust, as text", NULL},
    {"user", FLAG_TEXT, &user, "NAME", "basic authentication; the password is $IMPRINT_PASSWORD",
     "IMPRINT_USER"},
    {"password", FLAG_SECRET, &password, NULL, "password of --user", "IMPRINT_PASSWORD"},
    {"bearer-token", FLAG_SECRET, &bearer, NULL, "a token in place of user and password",
     "IMPRINT_BEARER_TOKEN"},
    {"header", FLAG_LIST, &headers, "'NAME: VALUE'", "a further header; may be given several times",
     NULL},
    {"allow-local-addresses", FLAG_SWITCH, &allow_local, NULL,
     "ask loopback, link-local and metadata addresses too", NULL},
    {"retries", FLAG_NUMBER, &retries, "N", "failures in a row before giving up (default 8)", NULL},
    {"stall", FLAG_NUMBER, &stall_s, "SECONDS",
     "without a sign of life of a server, then it is asked anew (default 30)", NULL},
    {"identity", FLAG_TEXT, &identity, "TEXT", "fail when it is another one now than resolve told",
     NULL},
    {"s3-endpoint", FLAG_TEXT, &s3_endpoint, "URL", "S3 store (default: AWS)", "AWS_ENDPOINT_URL"},
    {"s3-region", FLAG_TEXT, &s3_region, "NAME", "region (default us-east-1)", "AWS_REGION"},
    {"s3-path-style", FLAG_SWITCH, &s3_path_style, NULL,
     "bucket in the path, as everywhere but at AWS", "IMPRINT_S3_PATH_STYLE"},
    {"s3-host-style", FLAG_SWITCH, &s3_host_style, NULL,
     "bucket in the host name at other stores too", "IMPRINT_S3_HOST_STYLE"},
    {"s3-access-key", FLAG_SECRET, &s3_access_key, NULL, "access key of the S3 store",
     "AWS_ACCESS_KEY_ID"},
    {"s3-secret-key", FLAG_SECRET, &s3_secret_key, NULL, "secret key of the S3 store",
     "AWS_SECRET_ACCESS_KEY"},
    {"s3-session-token", FLAG_SECRET, &s3_session_token, NULL, "token of a temporary access key",
     "AWS_SESSION_TOKEN"},
    {"platform", FLAG_TEXT, &platform, "ARCH", "of a container image (default: this machine's)",
     NULL},
    {"path", FLAG_TEXT, &path_in_image, "PATH",
     "of the disk in a container image (default: the one "
     "file below /disk)",
     NULL},
    {"insecure-registry", FLAG_SWITCH, &registry_insecure, NULL,
     "speak plain http to a container registry", NULL},
    {"auth-file", FLAG_TEXT, &registry_auth_file, "FILE",
     "credentials for container registries, as docker keeps them", "REGISTRY_AUTH_FILE"},
};

const struct flag_set source_flags = {flags, sizeof(flags) / sizeof(flags[0])};

/* The more particular variable counts before the general one, but not before the flag. */
static void
look_for_endpoint(void)
{
  const char *general = getenv("AWS_ENDPOINT_URL");
  const char *particular = getenv("AWS_ENDPOINT_URL_S3");
  bool is_flag = s3_endpoint && s3_endpoint != general; /* flags are no copies of variables */
  if (particular && *particular && !is_flag)
    s3_endpoint = particular;
}

/* Where podman and docker keep what a person has logged in with; the first that is there. */
static void
look_for_auth_file(void)
{
  static char *found; /* as long as the flags */
  const struct {
    const char *folder;
    const char *name;
  } places[] = {{getenv("XDG_RUNTIME_DIR"), "containers/auth.json"},
                {getenv("DOCKER_CONFIG"), "config.json"},
                {getenv("HOME"), ".docker/config.json"}};
  free(TAKE(found));
  for (size_t i = 0; !found && i < sizeof(places) / sizeof(places[0]); i++) {
    if (!places[i].folder || places[i].folder[0] != '/')
      continue;
    CLEANUP(freep) char *path = xasprintf("%s/%s", places[i].folder, places[i].name);
    if (access(path, R_OK) == 0)
      found = TAKE(path);
  }
  registry_auth_file = found;
}

void
source_flags_look_around(void)
{
  static struct aws_profile profile; /* as long as the flags */
  look_for_endpoint();
  if (!registry_auth_file && !user)
    look_for_auth_file();
  if (!s3_region)
    s3_region = getenv("AWS_DEFAULT_REGION");
  if (s3_access_key || s3_secret_key)
    return; /* halves of two keys make none */
  aws_profile_clear(&profile);
  aws_profile_load(&profile);
  s3_access_key = profile.access_key;
  s3_secret_key = profile.secret_key;
  s3_session_token = profile.session_token;
}

/* Larger ones mean the same: for ever. */
static unsigned
up_to(uint64_t value, unsigned max)
{
  return value < max ? (unsigned)value : max;
}

void
source_flags_options(struct source_options *ret_options)
{
  *ret_options = (struct source_options){
      .http = {.ca_bundle = ca_bundle,
               .ca_pem = ca_pem,
               .proxy = proxy,
               .user = user,
               .password = user ? password : NULL,
               .bearer = bearer,
               .headers = headers.items,
               .allow_local_addresses = allow_local,
               .retries = retries > 0 ? up_to(retries, HTTP_RETRIES_NONE - 1) : HTTP_RETRIES_NONE,
               .stall_s = up_to(stall_s, STALL_MAX_S)},
      .s3 = {.endpoint = s3_endpoint,
             .region = s3_region,
             .access_key = s3_access_key,
             .secret_key = s3_secret_key,
             .session_token = s3_session_token,
             .path_style = s3_path_style,
             .host_style = s3_host_style},
      .identity = identity,
      .platform = platform,
      .path_in_image = path_in_image,
      .registry_insecure = registry_insecure,
      .registry_auth_file = registry_auth_file,
  };
  ceph_flags_config(&ret_options->ceph);
}
