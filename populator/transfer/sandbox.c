/* SPDX-License-Identifier: Apache-2.0 */
#include "populator/transfer/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/sandbox/connect_guard.h"
#include "lib/sandbox/landlock.h"
#include "lib/sandbox/privileges.h"
#include "lib/sandbox/sanitizer.h"
#include "populator/transfer/sandbox_calls.h"

/* Connections to some thousands of OSDs, and the guard's descriptors above them. */
#define FILES_MAX (65536 + 256)
/* Threads of the user that the worker became: librados has some forty. */
#define THREADS_MAX 1024

struct sandbox {
  struct connect_guard *guard; /* NULL where there can be none */
};

/* What any transfer reads: libraries that are loaded late, trust, names, time, the machine's size.
 * Of /proc nothing that tells of other processes. */
static const char *const common_paths[] = {
    "/usr/lib", "/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
    /* certificates */
    "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates", "/etc/gnutls", "/etc/crypto-policies",
    /* names */
    "/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/protocols",
    "/etc/resolv.conf", "/etc/services",
    /* time */
    "/etc/localtime", "/usr/share/zoneinfo",
    /* the machine */
    "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo",
    "/proc/stat", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
    /* who it is, for others to tell whether it is dead (process_id.h) */
    "/proc/sys/kernel/random/boot_id", "/proc/self/stat",
#if SANDBOX_HAS_SANITIZER
    "/proc/self",
#endif
    NULL};

/* Something that cannot be had: an error for those who are strict, else a line in the log. The
 * error that came with it is used up. */
static int
lack(const struct sandbox_options *options, const char *what, struct error *cause,
     struct error **err)
{
  CLEANUP(error_freep) struct error *owned = cause;
  const char *reason = owned ? owned->message : "";
  if (options->is_strict)
    return error_set(err, ERROR_FAILED_PRECONDITION, "sandbox: %s: %s", what, reason);
  log_warn("sandbox: %s: %s", what, reason);
  return 0;
}

/* Threads that are there already would stay outside. */
static int
check_single_threaded(struct error **err)
{
  DIR *tasks = opendir("/proc/self/task");
  unsigned count = 0;
  const struct dirent *entry;
  while (tasks && (entry = readdir(tasks)))
    count += entry->d_name[0] != '.';
  if (tasks)
    (void)closedir(tasks);
  if (count > 1)
    return error_set(err, ERROR_FAILED_PRECONDITION, "sandbox: %u threads run already", count);
  return 0;
}

static int
limit_resources(const struct sandbox_options *options, struct error **err)
{
  uint64_t memory = options->memory_bytes ? options->memory_bytes : SANDBOX_MEMORY_DEFAULT;
  struct privileges_limits limits = {.files = FILES_MAX,
                                     .data_bytes = SANDBOX_HAS_SANITIZER ? 0 : memory,
                                     .processes = options->uid != 0 ? THREADS_MAX : 0};
  int r = privileges_limit(&limits);
  return r == 0 ? 0 : error_set_errno(err, r, "sandbox: set limits");
}

static uint64_t
kept_capabilities(const struct sandbox_options *options)
{
  if (!options->keeps_file_rights || options->uid != 0 || landlock_abi() == 0)
    return 0;
  return 1ULL << CAP_DAC_READ_SEARCH | (options->write_paths ? 1ULL << CAP_DAC_OVERRIDE : 0);
}

static int
drop_privileges(const struct sandbox_options *options, struct error **err)
{
  privileges_empty_bounding_set(); /* while there is the right to */
  if (options->uid != 0 && privileges_set_user(options->uid, options->gid, err) < 0)
    return error_wrap(err, "sandbox");
  int r = privileges_drop_capabilities(kept_capabilities(options));
  if (r == 0)
    r = privileges_no_new();
  return r == 0 ? 0 : error_set_errno(err, r, "sandbox: give up privileges");
}

/* Others of the same user must not look into this process. The guard must, and can all the same. */
static int
hide_memory(const struct sandbox_options *options, struct sandbox *sandbox, struct error **err)
{
  struct error *failure = NULL;
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (!sandbox->guard || connect_guard_check(sandbox->guard, &failure) == 0)
    return 0;
  connect_guard_free(TAKE(sandbox->guard));
  return lack(options, "connections are not limited", failure, err);
}

/* The common paths and the caller's; to be freed. */
static const char **
join_paths(const char *const *more)
{
  size_t count = 0;
  while (more && more[count])
    count++;
  size_t common = sizeof(common_paths) / sizeof(common_paths[0]) - 1;
  const char **all = xcalloc(common + count + 1, sizeof(*all));
  memcpy(all, common_paths, common * sizeof(*all));
  if (count > 0)
    memcpy(all + common, more, count * sizeof(*all));
  return all;
}

static int
restrict_files(const struct sandbox_options *options, const struct sandbox *sandbox,
               struct error **err)
{
  CLEANUP(freep) const char **read_paths = join_paths(options->read_paths);
  struct landlock_options rules = {.read = read_paths,
                                   .write = options->write_paths,
                                   .denies_connecting = sandbox->guard != NULL};
  struct error *failure = NULL;
  CLEANUP(closep) int ruleset = -1;
  int r = 0;
  if (landlock_ruleset(&rules, &ruleset, &failure) == 0)
    r = landlock_restrict(ruleset);
  if (r != 0)
    error_make_errno(&failure, r, "take the Landlock ruleset on");
  if (!failure)
    return 0;
  (void)privileges_drop_capabilities(0); /* they were for files that are limited */
  return lack(options, "files are not limited", failure, err);
}

/* The listener, 0 without a guard, -1 on failure, when nothing is installed. */
static int
install_filter(const struct sandbox *sandbox, struct error **err)
{
  CLEANUP(syscall_filter_freep) struct syscall_filter *filter = syscall_filter_new();
  sandbox_calls_add(filter);
  connect_guard_add_rules(sandbox->guard, filter);
  if (syscall_filter_compile(filter, err) < 0)
    return -1;
  int listener = syscall_filter_install(filter, sandbox->guard != NULL);
  if (listener < 0)
    return error_set_errno(err, -listener, "install the system call filter");
  return listener;
}

static int
restrict_calls(const struct sandbox_options *options, struct sandbox *sandbox, struct error **err)
{
  struct error *failure = NULL;
  int listener = install_filter(sandbox, &failure);
  if (listener < 0 && sandbox->guard) { /* a container's filter may have the only listener */
    connect_guard_free(TAKE(sandbox->guard));
    if (lack(options, "connections are not limited", TAKE(failure), err) < 0)
      return -1;
    listener = install_filter(sandbox, &failure);
  }
  if (listener < 0)
    return lack(options, "system calls are not limited", failure, err);
  return sandbox->guard ? connect_guard_attach(sandbox->guard, listener, err) : 0;
}

static int
start_guard(const struct sandbox_options *options, struct sandbox *sandbox, struct error **err)
{
  struct net_policy policy = {0};
  if (options->network)
    net_policy_add_all(&policy, options->network);
  net_policy_add_nameservers(&policy, "/etc/resolv.conf");
  struct error *failure = NULL;
  int r = connect_guard_start(&policy, kept_capabilities(options), &sandbox->guard, &failure);
  net_policy_clear(&policy);
  return r == 0 ? 0 : lack(options, "connections are not limited", failure, err);
}

/* The resolver must not send two questions in one call, which names addresses in memory. */
static void
simplify_resolver(void)
{
  const char *given = getenv("RES_OPTIONS");
  CLEANUP(freep) char *value = xasprintf("%s single-request", given ? given : "");
  (void)setenv("RES_OPTIONS", value, 1);
}

#if SANDBOX_HAS_SANITIZER
static bool is_inside;

/* Asked by the sanitizer at the end: its search for leaks traces the process, which is forbidden
 * here. */
int __lsan_is_turned_off(void);
int
__lsan_is_turned_off(void)
{
  return is_inside;
}

static void
note_inside(void)
{
  is_inside = true;
}
#else
static void
note_inside(void)
{
}
#endif

int
sandbox_enter(const struct sandbox_options *options, struct sandbox **ret_sandbox,
              struct error **err)
{
  CLEANUP(sandbox_freep) struct sandbox *sandbox = xcalloc(1, sizeof(*sandbox));
  simplify_resolver();
  if (check_single_threaded(err) < 0 || limit_resources(options, err) < 0 ||
      start_guard(options, sandbox, err) < 0 || drop_privileges(options, err) < 0 ||
      hide_memory(options, sandbox, err) < 0 || restrict_files(options, sandbox, err) < 0 ||
      restrict_calls(options, sandbox, err) < 0)
    return -1;
  note_inside();
  *ret_sandbox = TAKE(sandbox);
  return 0;
}

int
sandbox_allow(struct sandbox *sandbox, const struct net_policy *more, struct error **err)
{
  return sandbox->guard ? connect_guard_allow(sandbox->guard, more, err) : 0;
}

int
sandbox_seal(struct sandbox *sandbox, struct error **err)
{
  return sandbox->guard ? connect_guard_seal(sandbox->guard, err) : 0;
}

void
sandbox_free(struct sandbox *sandbox)
{
  if (!sandbox)
    return;
  connect_guard_free(sandbox->guard);
  free(sandbox);
}
