"""The admission webhook: what it reads of a workload, and what it is over a loopback connection with TLS."""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stablint.integrate import kubernetes
from stablint.integrate.texts import asked_of

ROOT = Path(__file__).parents[2]
FAULTY = ["--model_name_or_path", "Qwen/Qwen2-7B-Instruct", "--output_dir", "out", "--fp16", "True", "--bf16", "True"]
SOUND = ["--model_name_or_path", "Qwen/Qwen2-7B-Instruct", "--output_dir", "out", "--bf16", "True"]
TRAIN = ["trl", "sft", "--dataset_name", "trl-lib/Capybara"]
NOBODY = asked_of(None, None, ())


def pod(args: list[str], command: list[str] = TRAIN, **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "train", "image": "x", "command": command, "args": args}], **more}


def job(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": spec}}}


def cron(spec: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}}


def pytorch(spec: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": spec}}}}}


@pytest.mark.parametrize("kind", [job, cron, pytorch, lambda spec: {"kind": "Pod", "spec": spec}])
@pytest.mark.parametrize(("args", "faulty"), [(FAULTY, True), (SOUND, False)])
def test_the_arguments_of_containers_are_read(kind, args, faulty):
    found = kubernetes.errors(kind(pod(args)), NOBODY)
    assert bool(found) is faulty
    if faulty:
        assert found[0].startswith("container train: P143 ")


def test_the_card_stands_in_the_pod():
    spec = pod(SOUND, nodeSelector={"nvidia.com/gpu.product": "Card-Of-Nobody"})
    assert kubernetes.errors(job(spec), NOBODY) == []


def test_configurations_in_a_config_map_are_read():
    data = {"train.yaml": "output_dir: out\nfp16: true\nbf16: true\n", "notes.txt": "hello"}
    (found,) = kubernetes.errors({"kind": "ConfigMap", "data": data}, NOBODY)
    assert found.startswith("train.yaml: P143 ")


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = pod(FAULTY)
    for _ in range(levels):
        value = {"spec": value}
    return value


@pytest.mark.parametrize(
    "odd", [None, 3, [], {}, {"spec": {"containers": {}}}, {"spec": {"containers": [None, 3, {"args": "x"}]}}, {"kind": "ConfigMap", "data": []}, deep(60)]
)  # fmt: skip
def test_odd_objects_have_no_errors(odd):
    assert kubernetes.errors(odd, NOBODY) == []


def review(manifest: Any, **more: Any) -> dict[str, Any]:
    request = {"uid": "1-2", "operation": "CREATE", "object": manifest, **more}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


SERVE = """
import sys
def no_egress(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.exec"):
        import os
        os._exit(99)
from stablint.integrate import kubernetes
cert, key = sys.argv[1:]
server = kubernetes.served("127.0.0.1", 0, cert, key, kubernetes.asked_of(None, None, ()))
print(server.server_port, flush=True)
sys.addaudithook(no_egress)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def webhook(tmp_path_factory) -> Iterator[tuple[int, ssl.SSLContext]]:
    """A server in a process of its own that ends with 99 as soon as it connects anywhere or starts anything."""
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", "tls.key", "-out", "tls.crt"], cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    words = [sys.executable, "-c", SERVE, str(folder / "tls.crt"), str(folder / "tls.key")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    yield port, ssl.create_default_context(cafile=str(folder / "tls.crt"))
    assert process.poll() is None, "it went out to the network, or fell"
    process.terminate()
    process.wait(10)


def post(
    webhook: tuple[int, ssl.SSLContext], body: bytes, path: str = "/validate", headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = http.client.HTTPSConnection("127.0.0.1", webhook[0], context=webhook[1], timeout=20)
    try:
        connection.request("POST", path, body, headers or {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()


def test_a_job_with_an_error_is_refused_and_told_why(webhook):
    status, answer = post(webhook, json.dumps(review(job(pod(FAULTY)))).encode())
    response = answer["response"]
    assert (status, answer["kind"], response["uid"], response["allowed"]) == (200, "AdmissionReview", "1-2", False)
    assert response["status"]["message"].startswith("stablint: container train: P143 ")


@pytest.mark.parametrize(
    "sent",
    [review(job(pod(SOUND))), review(job(pod(FAULTY)), operation="DELETE"), review(None), review({"kind": "Service"})],
)
def test_everything_else_is_admitted(webhook, sent):
    status, answer = post(webhook, json.dumps(sent).encode())
    assert (status, answer["response"]) == (200, {"uid": "1-2", "allowed": True})


@pytest.mark.parametrize(
    ("body", "path", "headers", "status"),
    [(b"{", "/validate", None, 400), (b"[]", "/validate", None, 400), (b"[" * 100_000, "/validate", None, 400), (b"\xff", "/validate", None, 400),
     (b"{}", "/other", None, 404), (b"", "/validate", {"Content-Length": "99999999999"}, 413), (b"", "/validate", {"Content-Length": "-1"}, 411)],
)  # fmt: skip
def test_what_is_no_review_is_refused(webhook, body, path, headers, status):
    assert post(webhook, body, path, headers)[0] == status


def test_a_silent_client_holds_up_nobody(webhook):
    import socket

    silent = [socket.create_connection(("127.0.0.1", webhook[0])) for _ in range(5)]
    try:
        begin = time.monotonic()
        assert post(webhook, json.dumps(review(None)).encode())[0] == 200
        assert time.monotonic() - begin < 5
    finally:
        for one in silent:
            one.close()


def test_several_at_once_are_answered(webhook):
    answers: list[int] = []
    body = json.dumps(review(job(pod(FAULTY)))).encode()
    threads = [threading.Thread(target=lambda: answers.append(post(webhook, body)[0])) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(set(answers)) == [200] and len(answers) == 6


def test_the_manifest_asks_for_what_the_server_is():
    objects = {
        one["kind"]: one
        for one in yaml.safe_load_all((ROOT / "deploy/kubernetes/webhook.yaml").read_text(encoding="utf-8"))
    }
    assert objects["NetworkPolicy"]["spec"]["egress"] == []
    (hook,) = objects["ValidatingWebhookConfiguration"]["webhooks"]
    assert hook["clientConfig"]["service"]["name"] == objects["Service"]["metadata"]["name"]
    assert (hook["failurePolicy"], hook["sideEffects"], hook["clientConfig"]["service"]["path"]) == (
        "Ignore",
        "None",
        "/validate",
    )
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "-m", kubernetes.__name__]
    assert (
        container["ports"][0]["containerPort"]
        == objects["Service"]["spec"]["ports"][0]["targetPort"]
        == int(container["args"][-1])
    )
