#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A node service that has nothing staged or published.

csi-sanity calls the node service to clean up after each controller spec and asks it for a node id.
This answers those calls truthfully for a node that never got a volume; it stages nothing, so specs
that need a real node are not run against it.

    node_standin.py SOCKET
"""
import os
import signal
import sys
from concurrent import futures

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import csi  # noqa: E402  pylint: disable=wrong-import-position

NODE_ID = "imprint:standin"


def main():
    socket = sys.argv[1]
    pb = csi.messages
    answers = {
        "NodeGetInfo": lambda: pb.NodeGetInfoResponse(node_id=NODE_ID),
        "NodeGetCapabilities": pb.NodeGetCapabilitiesResponse,
        "NodeUnpublishVolume": pb.NodeUnpublishVolumeResponse,
    }
    identity = {
        "GetPluginInfo": lambda: pb.GetPluginInfoResponse(
            name="imprint.csi.hypercloud.tmaxanc.com", vendor_version="test"),
        "GetPluginCapabilities": pb.GetPluginCapabilitiesResponse,
        "Probe": pb.ProbeResponse,
    }

    def handlers(table):
        return {
            name: grpc.unary_unary_rpc_method_handler(
                lambda _request, _context, make=make: make(),
                response_serializer=lambda message: message.SerializeToString())
            for name, make in table.items()
        }

    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler("csi.v1.Node", handlers(answers)),
        grpc.method_handlers_generic_handler("csi.v1.Identity", handlers(identity)),
    ))
    server.add_insecure_port("unix://" + socket)
    server.start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop(0)


if __name__ == "__main__":
    main()
