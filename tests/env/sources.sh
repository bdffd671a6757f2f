# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Which files are ours.

# source_files PATTERN…: paths from ROOT, a line each: what git tracks, and new files that it does
# not ignore.
source_files() {
  # the checkout may belong to another user
  git -c safe.directory='*' -C "$ROOT" ls-files --cached --others --exclude-standard -- "$@" |
    while IFS= read -r file; do
      [[ ! -f $ROOT/$file ]] || printf '%s\n' "$file"
    done
}
