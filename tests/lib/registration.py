# SPDX-License-Identifier: Apache-2.0
"""Kubelet's side of plugin registration, made from proto/pluginregistration.proto at run time."""

import os

import grpc
from google.protobuf import descriptor_pool, message_factory

import csi

PROTO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "proto",
                                      "pluginregistration.proto"))
PACKAGE = "pluginregistration"


class Client:
    def __init__(self, socket):
        pool = descriptor_pool.DescriptorPool()
        factory = message_factory.MessageFactory(pool)
        for file in csi.compile_proto(PROTO).file:
            pool.Add(file)
        self.channel = grpc.insecure_channel(f"unix:{socket}",
                                             options=[("grpc.use_local_subchannel_pool", 1)])
        service = pool.FindServiceByName(f"{PACKAGE}.Registration")
        for method in service.methods:
            request = factory.GetPrototype(method.input_type)
            response = factory.GetPrototype(method.output_type)
            send = self.channel.unary_unary(f"/{service.full_name}/{method.name}",
                                            request_serializer=request.SerializeToString,
                                            response_deserializer=response.FromString)
            setattr(self, method.name,
                    lambda send=send, request=request, **fields: send(request(**fields), 30, wait_for_ready=True))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
