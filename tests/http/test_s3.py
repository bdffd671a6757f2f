# SPDX-License-Identifier: Apache-2.0
"""Objects in a real store, radosgw, with boto3 as the client that made or reads them."""

import hashlib
import json
import random

import pytest

import s3_store
from fault_server import FaultServer
from http_probe import PIECES, STREAM, probe, run
from s3_store import client_of, through

DATA = random.Random(8).randbytes(12_000_001)
SHA256 = hashlib.sha256(DATA).hexdigest()
BUCKET = "images"
PART = 5 << 20
MODES = pytest.mark.parametrize("mode", [STREAM, PIECES], ids=["stream", "pieces"])
STYLES = pytest.mark.parametrize("endpoint", ["plain", "tls", "by_host"])
# Whatever a key may hold; stores and their clients disagree on how some of it is signed.
KEYS = [
    "disk.img", "a/b/c.qcow2", "with blank", "plus+and&amp=1", "ümläut/日本", "per%cent%20",
    "tilde~(1)!*'", "a//b", "question?x=1#top", "../up/./here", "@:;,$[]"
]


@pytest.fixture(scope="session")
def store():
    return s3_store.load()


@pytest.fixture(scope="module")
def s3(store):
    client = client_of(store)
    client.create_bucket(Bucket=BUCKET)
    client.put_object(Bucket=BUCKET, Key="disk.img", Body=DATA)
    yield client
    s3_store.empty(client, BUCKET)
    client.delete_bucket(Bucket=BUCKET)


def access(store, endpoint="plain", **changes):
    values = {
        "endpoint": store[endpoint],
        "access-key": store["access_key"],
        "secret-key": store["secret_key"],
        "ca-bundle": store["ca_bundle"],
        **changes
    }
    return [
        part for name, value in values.items() if value is not None for part in (f"--{name}", value)
    ]


def fetch(store, key, *arguments, bucket=BUCKET, endpoint="plain", **changes):
    return probe(f"s3://{bucket}/{key}", *access(store, endpoint, **changes), *arguments)


def put(store, key, data, *arguments, endpoint="plain", **changes):
    return run("s3_put",
               "--retry-first-ms",
               20,
               "--allow-local",
               "--chunk",
               PART,
               *access(store, endpoint, **changes),
               *arguments,
               f"s3://{BUCKET}/{key}",
               stdin=data)


@MODES
@STYLES
def test_an_object_is_read(s3, store, endpoint, mode):
    outcome = fetch(store, "disk.img", *mode, endpoint=endpoint)
    assert outcome.is_good, outcome.values
    assert outcome.sha256 == SHA256
    assert outcome.size == len(DATA) and outcome.can_seek
    assert outcome.identity.startswith('etag:"')
    assert outcome.label == f"s3://{BUCKET}/disk.img"


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("endpoint", ["plain", "by_host"])
def test_keys_may_hold_anything(s3, store, key, endpoint):
    s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
    outcome = fetch(store, key, *PIECES, endpoint=endpoint)
    assert outcome.is_good, outcome.values
    assert outcome.sha256 == hashlib.sha256(key.encode()).hexdigest()
    if key != "disk.img":
        s3.delete_object(Bucket=BUCKET, Key=key)
    else:
        s3.put_object(Bucket=BUCKET, Key=key, Body=DATA)


def test_buckets_that_are_no_host_names(s3, store):
    s3.create_bucket(Bucket="with.dots")
    try:
        s3.put_object(Bucket="with.dots", Key="x", Body=b"y")
        assert fetch(store, "x", *STREAM, bucket="with.dots", endpoint="by_host").bytes == 1
        s3.delete_object(Bucket="with.dots", Key="x")
    finally:
        s3.delete_bucket(Bucket="with.dots")


def test_another_region_is_signed_for(s3, store):
    assert fetch(store, "disk.img", "--open", region="eu-central-1").is_good


def test_an_empty_object(s3, store):
    s3.put_object(Bucket=BUCKET, Key="empty", Body=b"")
    outcome = fetch(store, "empty", *STREAM)
    assert outcome.is_good and outcome.bytes == 0
    s3.delete_object(Bucket=BUCKET, Key="empty")


def test_refusals_are_told(s3, store):
    wrong_secret = fetch(store, "disk.img", *STREAM, **{"secret-key": "geheim"})
    assert wrong_secret.error == "PERMISSION_DENIED"
    assert "AccessDenied" in wrong_secret.message and "geheim" not in wrong_secret.message
    wrong_key = fetch(store, "disk.img", *STREAM, **{"access-key": "nobody"})
    assert wrong_key.error == "PERMISSION_DENIED"
    assert "InvalidAccessKeyId" in wrong_key.message or "AccessDenied" in wrong_key.message
    missing = fetch(store, "missing", *STREAM)
    assert missing.error == "NOT_FOUND"
    assert "NoSuchKey" in missing.message and missing.message.startswith(f"s3://{BUCKET}/missing: ")
    no_bucket = fetch(store, "x", *STREAM, bucket="missing")
    assert no_bucket.error == "NOT_FOUND" and "NoSuchBucket" in no_bucket.message
    half = fetch(store, "disk.img", *STREAM, **{"secret-key": None})
    assert half.error == "INVALID_ARGUMENT"


def test_anonymous_access(s3, store):
    nobody = {"access-key": None, "secret-key": None}
    refused = fetch(store, "disk.img", *STREAM, **nobody)
    assert refused.error == "PERMISSION_DENIED" and "AccessDenied" in refused.message
    s3.put_object(Bucket=BUCKET, Key="public", Body=DATA, ACL="public-read")
    assert fetch(store, "public", *PIECES, **nobody).sha256 == SHA256
    s3.delete_object(Bucket=BUCKET, Key="public")


def test_session_tokens(s3, store):
    policy = {
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Action": ["sts:GetSessionToken", "s3:*"],
            "Resource": ["*"]
        }]
    }
    client_of(store, "iam").put_user_policy(UserName="imprint",
                                            PolicyName="sessions",
                                            PolicyDocument=json.dumps(policy))
    session = client_of(store, "sts").get_session_token()["Credentials"]
    keys = {"access-key": session["AccessKeyId"], "secret-key": session["SecretAccessKey"]}
    outcome = fetch(store, "disk.img", *PIECES, **keys,
                    **{"session-token": session["SessionToken"]})
    assert outcome.is_good, outcome.values
    assert outcome.sha256 == SHA256
    without = fetch(store, "disk.img", *STREAM, **keys)
    assert without.error == "PERMISSION_DENIED"


def test_a_store_that_redirects_does_not_get_the_keys_sent_elsewhere(store):

    def away(request, reply):
        reply.answer(307, {"Location": other.url("/elsewhere")})

    with FaultServer(lambda request, reply: reply.answer(200)) as other, FaultServer(
            away) as server:
        outcome = fetch({**store, "plain": server.url("")}, "disk.img", *STREAM)
    assert outcome.error == "FAILED_PRECONDITION"
    assert "set the endpoint and the region" in outcome.message
    assert not other.requests


# Uploads.


def uploads(s3, key):
    return s3_store.uploads(s3, BUCKET, key)


@STYLES
def test_an_upload_makes_an_object(s3, store, endpoint):
    key = f"up/{endpoint} +ü"
    outcome = put(store, key, DATA, endpoint=endpoint)
    assert outcome.is_good, outcome.values
    assert outcome.sent == 3
    answer = s3.get_object(Bucket=BUCKET, Key=key)
    assert hashlib.sha256(answer["Body"].read()).hexdigest() == SHA256
    assert answer["ETag"].endswith('-3"')
    assert not uploads(s3, key)


def test_an_aborted_upload_leaves_nothing(s3, store):
    assert put(store, "aborted", DATA, "--abort").is_good
    assert not uploads(s3, "aborted")
    assert fetch(store, "aborted", "--open").error == "NOT_FOUND"


def test_an_upload_is_gone_on_with(s3, store):
    begun = put(store, "resumed", DATA, "--open")  # the last part only
    assert begun.sent == 1
    assert len(uploads(s3, "resumed")) == 1
    rest = put(store, "resumed", DATA, "--resume", begun.upload)
    assert rest.is_good, rest.values
    assert rest.sent == 2
    assert fetch(store, "resumed", *PIECES).sha256 == SHA256


def test_an_upload_that_is_gone_is_told(s3, store):
    begun = put(store, "gone", DATA, "--open")
    s3.abort_multipart_upload(Bucket=BUCKET, Key="gone", UploadId=begun.upload)
    outcome = put(store, "gone", DATA, "--resume", begun.upload)
    assert outcome.error == "NOT_FOUND"
    assert "list the parts of an upload" in outcome.message


def test_uploads_with_a_wrong_key_are_refused(s3, store):
    outcome = put(store, "refused", DATA, **{"secret-key": "geheim"})
    assert outcome.error == "PERMISSION_DENIED"
    assert "AccessDenied" in outcome.message and "geheim" not in outcome.message


def test_parts_that_are_too_small_are_told(s3, store):
    outcome = put(store, "small", b"x" * 2000, "--chunk", 1000)
    assert not outcome.is_good
    assert "EntityTooSmall" in outcome.message


def test_many_parts_are_listed_in_pages(s3, store):
    """More than a page of 1000: each part is a few bytes, so it can only be listed and aborted."""
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="many")["UploadId"]
    for number in range(1, 1006):
        s3.upload_part(Bucket=BUCKET,
                       Key="many",
                       UploadId=upload,
                       PartNumber=number,
                       Body=b"%04d" % number)
    data = b"".join(b"%04d" % number for number in range(1, 1006)) + b"last"
    outcome = put(store, "many", data, "--chunk", 4, "--resume", upload, "--abort")
    assert outcome.is_good, outcome.values
    assert outcome.sent == 1
    assert not uploads(s3, "many")


def test_an_object_that_is_replaced_fails(s3, store):
    s3.put_object(Bucket=BUCKET, Key="live", Body=DATA)

    def replace(request, body):
        if request.number == 3:
            s3.put_object(Bucket=BUCKET, Key="live", Body=DATA[::-1])
        return body

    with through(store, replace) as between:
        outcome = fetch({**store, "plain": between.url("")}, "live", "--chunk", 1 << 20)
    assert outcome.error == "FAILED_PRECONDITION", outcome.values
    s3.delete_object(Bucket=BUCKET, Key="live")


def test_lost_answers_are_made_up_for(s3, store):
    """Every first answer of a kind gets lost, that to the completion too, which is found done."""
    lost = set()

    def spoil(request, body):
        kind = (request.method, request.target.partition("?")[2])
        if kind in lost:
            return body
        lost.add(kind)
        return None

    with through(store, spoil) as between:
        outcome = put({**store, "plain": between.url("")}, "lost", DATA)
    assert outcome.is_good, outcome.values
    assert fetch(store, "lost", *PIECES).sha256 == SHA256
    for upload in uploads(s3, "lost"):  # the one whose creation was not heard of
        s3.abort_multipart_upload(Bucket=BUCKET, Key="lost", UploadId=upload["UploadId"])


def test_an_error_in_a_good_answer_may_pass(s3, store):
    told = []

    def fail(request, reply):
        if request.method != "POST" or "uploadId" not in request.target or len(told) == 2:
            return False
        told.append(request)
        reply.answer(200, {}, b"<Error><Code>SlowDown</Code><Message>later</Message></Error>")
        return True

    with through(store, lambda request, body: body, before=fail) as between:
        outcome = put({**store, "plain": between.url("")}, "slow", DATA)
    assert outcome.is_good and len(told) == 2, outcome.values
    assert fetch(store, "slow", *PIECES).sha256 == SHA256


def test_an_error_in_a_good_answer_is_an_error(s3, store):

    def fail(request, reply):
        if request.method != "POST" or "uploadId" not in request.target:
            return False
        reply.answer(200, {}, b"<Error><Code>InternalError</Code><Message>oops</Message></Error>")
        return True

    with through(store, lambda request, body: body, before=fail) as between:
        outcome = put({**store, "plain": between.url("")}, "failed", DATA)
    for upload in uploads(s3, "failed"):
        s3.abort_multipart_upload(Bucket=BUCKET, Key="failed", UploadId=upload["UploadId"])
    assert outcome.error == "UNAVAILABLE"
    assert "InternalError: oops" in outcome.message


def test_answers_that_make_no_sense_are_told(s3, store):
    with through(store, lambda request, body: b"<html>"
                 if request.target.endswith("?uploads=") else body) as between:
        outcome = put({**store, "plain": between.url("")}, "nonsense", DATA)
    assert outcome.error == "DATA_LOSS"
    assert "no upload id" in outcome.message
    for upload in uploads(s3, "nonsense"):
        s3.abort_multipart_upload(Bucket=BUCKET, Key="nonsense", UploadId=upload["UploadId"])
