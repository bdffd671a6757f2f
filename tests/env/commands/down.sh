#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev down
#: Stop the playground and remove all of it.

source "$(dirname "$(realpath "$0")")/../env.sh"

step 'Stop the playground' playground_stop
