# SPDX-License-Identifier: Apache-2.0
"""The radosgw of a group: what tests/env/radosgw.sh tells of it, boto3 as a foreign client, and a
server in between that spoils what goes through it."""

import http.client
import json
import os
import urllib.parse

import boto3
import botocore.config

from fault_server import FaultServer


def load():
    """endpoints (plain, tls, by_host), access_key, secret_key, ca_bundle"""
    with open(os.path.join(os.environ["CEPH_DIR"], "s3.json"), encoding="utf-8") as file:
        return json.load(file)


def client_of(store, service="s3", **options):
    return boto3.client(service,
                        endpoint_url=store["plain"],
                        region_name="us-east-1",
                        use_ssl=False,
                        config=botocore.config.Config(s3={"addressing_style": "path"},
                                                      retries={"max_attempts": 2}),
                        **{
                            "aws_access_key_id": store["access_key"],
                            "aws_secret_access_key": store["secret_key"],
                            **options
                        })


def uploads(s3, bucket, key):
    """Multipart uploads of an object that are neither completed nor aborted."""
    return [
        upload for upload in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
        if upload["Key"] == key
    ]


def empty(s3, bucket):
    for upload in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []):
        s3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    for item in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
        s3.delete_object(Bucket=bucket, Key=item["Key"])


def onward(store, request):
    """Hands a request on to the store: status, headers, body of the answer."""
    gateway = urllib.parse.urlsplit(store["plain"])
    connection = http.client.HTTPConnection(gateway.hostname, gateway.port, timeout=30)
    connection.request(request.method, request.target, request.body, request.headers)
    answer = connection.getresponse()
    body = answer.read()
    headers = [(name, value) for name, value in answer.getheaders()
               if name.lower() not in ("connection", "content-length", "transfer-encoding")]
    connection.close()
    return answer.status, headers, body


def through(store, spoil, before=None):
    """A server that hands everything on to the store, but for what spoil(request, body of the answer)
    makes of it: None for nothing at all, as when the connection breaks before the answer. before(request,
    reply) may answer itself, and returns True then."""

    def handle(request, reply):
        if before and before(request, reply):
            return
        status, headers, body = onward(store, request)
        body = spoil(request, body)
        if body is None:
            reply.reset()
            return
        reply.answer(status, headers, body)

    return FaultServer(handle)
