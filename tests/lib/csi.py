# SPDX-License-Identifier: Apache-2.0
"""A CSI client made from proto/csi.proto at run time: nothing is generated into the tree.

    with csi.Client("/run/csi.sock") as client:
        volume = client.CreateVolume(name="v", capacity_range={"required_bytes": 1 << 30}).volume

Every RPC of every service is a method. Its argument is the request message, or its fields by
keyword (messages as dicts, enumerators by name); `timeout` is the deadline in seconds. The response
message is returned, for a streaming RPC an iterator of them; a failed call raises grpc.RpcError with
code() and details(). Threads may share a client.
`csi.messages.CreateVolumeRequest` is the class of that message.

Run as a program it makes one call:  csi.py SOCKET METHOD [JSON]
"""

import functools
import os
import subprocess
import sys
import time
import types

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

PACKAGE = "csi.v1"
DEADLINE_S = 60
PROTO = os.path.join(os.path.dirname(__file__), "..", "..", "proto", "csi.proto")


def compile_proto(path):
    """The FileDescriptorSet of a .proto file and all that it imports."""
    compiled = subprocess.run(
        ["protoc", "-I", os.path.dirname(path), "--include_imports", "-o", "/dev/stdout", path],
        check=True, stdout=subprocess.PIPE)
    return descriptor_pb2.FileDescriptorSet.FromString(compiled.stdout)


class Protocol:
    """The message classes of the CSI package by name, and its methods by name."""

    def __init__(self, path):
        pool = descriptor_pool.DescriptorPool()
        factory = message_factory.MessageFactory(pool)
        files = compile_proto(path).file
        for file in files:
            pool.Add(file)
        ours = next(file for file in files if file.package == PACKAGE)
        self.messages = types.SimpleNamespace(**{
            message.name:
                factory.GetPrototype(pool.FindMessageTypeByName(f"{PACKAGE}.{message.name}"))
            for message in ours.message_type})
        self.methods = {
            method.name: (f"/{PACKAGE}.{service.name}/{method.name}", method)
            for service in ours.service for method in service.method}

    def message_class(self, type_name):
        return getattr(self.messages, type_name.rpartition(".")[2])


@functools.lru_cache(maxsize=None)
def protocol():
    return Protocol(os.path.realpath(PROTO))


def __getattr__(name):
    if name == "messages":  # compiled when first asked for
        return protocol().messages
    raise AttributeError(name)


class Client:
    """A connection to one CSI endpoint, given as the path of its socket, or as HOST:PORT."""

    def __init__(self, socket, deadline_s=DEADLINE_S):
        # a channel of its own: gRPC would otherwise share one broken connection among clients
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        target = f"unix:{socket}" if str(socket).startswith("/") else socket
        self.channel = grpc.insecure_channel(target, options=options)
        self.deadline_s = deadline_s
        for name, (path, method) in protocol().methods.items():
            setattr(self, name, self._bind(path, method))

    def _bind(self, path, method):
        request_class = protocol().message_class(method.input_type)
        response_class = protocol().message_class(method.output_type)
        make = self.channel.unary_stream if method.server_streaming else self.channel.unary_unary
        send = make(path, request_serializer=request_class.SerializeToString,
                    response_deserializer=response_class.FromString)

        def call(request=None, /, timeout=None, **fields):
            return send(request or request_class(**fields), timeout or self.deadline_s)

        def future(request=None, /, timeout=None, **fields):
            return send.future(request or request_class(**fields), timeout or self.deadline_s)

        call.future = future  # the same, in flight: .result(), .code(), .cancel()
        call.__name__ = method.name
        return call

    def raw(self, path, data, timeout=None):
        """Sends bytes as they are to a method path; returns the bytes of the answer."""
        return self.channel.unary_unary(path)(data, timeout=timeout or self.deadline_s)

    def wait_ready(self, timeout=30):
        grpc.channel_ready_future(self.channel).result(timeout)

    def close(self):
        self.channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# Codes after which a container orchestrator calls again.
RETRYABLE = (grpc.StatusCode.ABORTED, grpc.StatusCode.UNAVAILABLE,
             grpc.StatusCode.DEADLINE_EXCEEDED)


def retry(call, seconds=60, **fields):
    """Repeats a call as an orchestrator does, until it succeeds or fails for good, or the time is
    over: csi.retry(client.CreateVolume, name="v")."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call(**fields)
        except grpc.RpcError as error:
            if error.code() not in RETRYABLE or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def single_node_block():
    """The capability that most tests ask for: one writer, block."""
    return {"block": {}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}


def single_node_mount(fs_type="ext4"):
    return {"mount": {"fs_type": fs_type}, "access_mode": {"mode": "SINGLE_NODE_WRITER"}}


def main(arguments):
    methods = protocol().methods
    if len(arguments) not in (2, 3) or arguments[1] not in methods:
        sys.exit("which method? There are: " + " ".join(methods))
    socket, name, text = *arguments[:2], arguments[2] if len(arguments) > 2 else "{}"
    method = methods[name][1]
    try:
        request = json_format.Parse(text, protocol().message_class(method.input_type)())
    except json_format.ParseError as error:
        sys.exit(f"bad request: {error}")
    with Client(socket) as client:
        try:
            answer = getattr(client, name)(request)
            for message in answer if method.server_streaming else [answer]:
                print(json_format.MessageToJson(message, preserving_proto_field_name=True))
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")


if __name__ == "__main__":
    main(sys.argv[1:])
