#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev format
#: Bring all C sources into the project's format.

source "$(dirname "$(realpath "$0")")/../env.sh"

packages_ready
source_files '*.c' '*.h' | (cd "$ROOT" && xargs -r clang-format -i)
