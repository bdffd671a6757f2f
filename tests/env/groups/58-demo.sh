#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev demo: a machine boots from a clone of an imported image; each of its steps checks itself

source "$(dirname "$(realpath "$0")")/../env.sh"

case_run demo "$ROOT/dev" demo
