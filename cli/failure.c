/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/failure.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/job.h"

static bool is_job;

void
failure_is_of_a_job(void)
{
  is_job = true;
}

int
failure_report(const struct error *err)
{
  if (is_job)
    job_print_failure(err);
  (void)fprintf(stderr, "imprint: %s\n", err->message);
  return exit_status_of(err->code);
}

void
failure_end(const struct error *err)
{
  _exit(failure_report(err));
}
