# SPDX-License-Identifier: Apache-2.0
"""Plugin registration, made from proto/pluginregistration.proto at run time: kubelet's side, and that
of a sidecar which registers a plugin in its place."""

import concurrent.futures
import os
import subprocess

import grpc
from google.protobuf import descriptor_pool, message_factory

import csi

PROTO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "proto",
                                      "pluginregistration.proto"))
SERVICE = "pluginregistration.Registration"


def methods():
    """Name, request and response of each."""
    pool = descriptor_pool.DescriptorPool()
    factory = message_factory.MessageFactory(pool)
    for file in csi.compile_proto(PROTO).file:
        pool.Add(file)
    for method in pool.FindServiceByName(SERVICE).methods:
        yield (method.name, factory.GetPrototype(method.input_type),
               factory.GetPrototype(method.output_type))


class Client:
    """Kubelet."""

    def __init__(self, socket):
        self.channel = grpc.insecure_channel(f"unix:{socket}",
                                             options=[("grpc.use_local_subchannel_pool", 1)])
        for name, request, response in methods():
            send = self.channel.unary_unary(f"/{SERVICE}/{name}",
                                            request_serializer=request.SerializeToString,
                                            response_deserializer=response.FromString)
            setattr(self, name,
                    lambda send=send, request=request, **fields: send(request(**fields), 30, wait_for_ready=True))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()


def sidecar(client, csi_socket, folder):
    """node-driver-registrar where $NODE_DRIVER_REGISTRAR names it: it is not among the Go modules
    that can be had. Without it, what stands for it."""
    program = os.environ.get("NODE_DRIVER_REGISTRAR")
    if program:
        return RealRegistrar(program, csi_socket, folder)
    return Registrar(client, csi_socket, folder)


class RealRegistrar:
    """The program, which ends by itself when kubelet refuses the plugin."""

    def __init__(self, program, csi_socket, folder):
        self.command = [program, f"--csi-address={csi_socket}",
                        f"--kubelet-registration-path={csi_socket}",
                        f"--plugin-registration-path={folder}"]
        self.process = None

    def registered(self):
        return self.process.poll() is None

    def __enter__(self):
        self.process = subprocess.Popen(self.command)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


class Registrar:
    """What node-driver-registrar does: asks the plugin for its name, and serves kubelet on a socket of
    the name."""

    def __init__(self, client, csi_socket, folder):
        self.name, self.csi_socket = client.GetPluginInfo().name, csi_socket
        self.socket = os.path.join(folder, f"{self.name}-reg.sock")
        self.statuses = []
        self.server = None

    def _answer(self, name, request, response):
        if name == "GetInfo":
            return response(type="CSIPlugin", name=self.name, endpoint=self.csi_socket,
                            supported_versions=["1.0.0"])
        self.statuses.append((request.plugin_registered, request.error))
        return response()

    def registered(self):
        return self.statuses == [(True, "")]

    def __enter__(self):
        handlers = {name: grpc.unary_unary_rpc_method_handler(
            lambda message, _, name=name, response=response: self._answer(name, message, response),
            request_deserializer=request.FromString,
            response_serializer=response.SerializeToString) for name, request, response in methods()}
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, handlers),))
        self.server.add_insecure_port(f"unix:{self.socket}")
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(None).wait()
        if os.path.exists(self.socket):
            os.unlink(self.socket)
