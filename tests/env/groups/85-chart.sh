#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: the Helm chart: rendered, installed into a real API server, its kinds, rights and alerts

source "$(dirname "$(realpath "$0")")/../env.sh"

kube_ready helm
pytest_run "$ROOT/tests/chart"
