# SPDX-License-Identifier: Apache-2.0
"""Stands in for the node half of the driver where a test of the controller asks for one.

csi-sanity asks the Node service for a node id, and cleans up there after every controller spec. This
server answers these calls truthfully for a node that never got a volume, and hands every other call,
as bytes, to the controller: what is tested is the controller itself, its Identity service too.

usage: node_stand_in.py SOCKET CONTROLLER_SOCKET
"""

import concurrent.futures
import signal
import sys

import grpc

import csi

NODE_ID = "imprint:stand-in"


class Handler(grpc.GenericRpcHandler):
    def __init__(self, channel):
        self.channel = channel
        self.own = {
            "/csi.v1.Node/NodeGetCapabilities": csi.messages.NodeGetCapabilitiesResponse(),
            "/csi.v1.Node/NodeGetInfo": csi.messages.NodeGetInfoResponse(node_id=NODE_ID),
            "/csi.v1.Node/NodeUnpublishVolume": csi.messages.NodeUnpublishVolumeResponse(),
        }

    def service(self, details):
        if details.method in self.own:
            answer = self.own[details.method].SerializeToString()
            return grpc.unary_unary_rpc_method_handler(lambda request, context: answer)
        forward = self.channel.unary_unary(details.method)

        def call(request, context):
            try:
                return forward(request, timeout=min(context.time_remaining(), csi.DEADLINE_S))
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())

        return grpc.unary_unary_rpc_method_handler(call)


def main(socket, controller_socket):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=16))
    server.add_generic_rpc_handlers([Handler(grpc.insecure_channel(f"unix:{controller_socket}"))])
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.stop(None)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main(*sys.argv[1:])
