#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: ./dev up
#: Start a playground, Ceph and imprint-controller, that keeps running.
#:
#: Prints the socket, the environment for ceph and rbd, and a first call. One for each checkout;
#: when it runs already, only the information is printed. "./dev down" stops and removes it.

source "$(dirname "$(realpath "$0")")/../env.sh"

up_undo() {
  [[ -n ${UP_DONE:-} ]] || playground_stop
}

packages_ready
if ! playground_is_up; then
  playground_stop # what is left of a half-dead one
  at_exit up_undo
  playground_start
fi
UP_DONE=1

cat <<END

  Ceph       export CEPH_CONF=$PLAYGROUND/ceph.conf
             then: ceph -s; rbd ls $POOL; rados df
  CSI        unix://$PLAYGROUND/csi.sock, log in $PLAYGROUND/controller.log

  Try        ./dev call CreateVolume '{"name": "first",
               "capacity_range": {"required_bytes": 1073741824},
               "volume_capabilities": [{"block": {},
                 "access_mode": {"mode": "SINGLE_NODE_WRITER"}}],
               "parameters": {"clusterID": "$CLUSTER_ID", "pool": "$POOL"}}'
             ./dev call ListVolumes
  Stop       ./dev down
END
