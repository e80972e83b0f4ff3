"""Workloads of a Kubernetes cluster, judged before they are admitted: what their containers start, and configurations in ConfigMaps.

`python -m stablint.integrate.kubernetes --cert tls.crt --key tls.key` serves a validating admission webhook over TLS. It reads the object that it is
sent, and nothing else: no file, no cluster, no network. docs/many-machines.md shows it deployed.
"""

from __future__ import annotations

import argparse
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stablint.integrate.texts import Asked, asked_of, check_text
from stablint.secrets import exit
from stablint.syntax import limits
from stablint.syntax.json import reader as as_json
from stablint.syntax.recipes.workload import files, started
from stablint.syntax.tree import Mapping, Text

LARGEST = 3_145_728  # bytes: what the API server takes of one object
_AT_ONCE, _PATIENCE = 8, 10  # requests; seconds for a handshake, a request and an answer each
_TOLD = 5  # errors in the message of a refusal


def errors(manifest: Any, asked: Asked) -> list[str]:
    """The errors of a workload or a ConfigMap, a line each; read as `stablint check` reads the manifest."""
    text = Text("workload.json", "workload.json", json.dumps(manifest))
    root = as_json.document(text).root
    found: list[str] = []
    spent = limits.Spent()
    if isinstance(root, Mapping):
        parts = [(name, name, view.source, asked) for name, view in files(text.text, root, spent)]
        parts += [
            (f"container {one.name}", "start.sh", one.view.source, _aimed(asked, one.gpu))
            for one in started(text.text, root, spent)
        ]
        for part in parts[: limits.REVIEWED.most]:
            found += _errors(*part)
        if len(parts) > limits.REVIEWED.most:
            spent.reached(limits.REVIEWED, 0, 0)
    return [*found, *(problem.message for problem in spent.problems.values())]


def _aimed(asked: Asked, gpu: str | None) -> Asked:
    """What the server was told wins; a label that names no card that is known says nothing."""
    if asked.gpus or gpu is None:
        return asked
    try:
        return asked_of(gpu, asked.model, asked.releases, asked.select, asked.gpu_memory)
    except ValueError:
        return asked


def _errors(where: str, path: str, text: str, asked: Asked) -> Iterator[str]:
    for one in json.loads(check_text(path, text, asked).findings):
        if one["severity"] == "error" and one["suppressed"] is None:
            yield f"{where}: {one['code']} {one['message']}"


def reviewed(review: Any, asked: Asked) -> dict[str, Any]:
    """The answer to an AdmissionReview (admission.k8s.io/v1). Raises ValueError for what is none."""
    request = review.get("request") if isinstance(review, dict) else None
    if (
        not isinstance(request, dict)
        or review.get("kind") != "AdmissionReview"
        or not isinstance(request.get("uid"), str)
    ):
        raise ValueError("no AdmissionReview")
    found = [] if request.get("operation") == "DELETE" else errors(request.get("object"), asked)
    response: dict[str, Any] = {"uid": request["uid"], "allowed": not found}
    if found:
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        response["status"] = {
            "code": 403,
            "reason": "Invalid",
            "message": exit.masked(f"stablint: {'; '.join(found[:_TOLD])}{more}"),
        }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


class Webhook(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext, asked: Asked) -> None:
        super().__init__(address, _Handler)
        self.asked, self._context = asked, context
        self.room = threading.BoundedSemaphore(_AT_ONCE)

    def get_request(self) -> tuple[Any, Any]:
        """The handshake waits for the request's own thread: a silent client holds up nobody else."""
        connection, address = super().get_request()
        connection.settimeout(_PATIENCE)
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A broken connection is the client's affair; what is wrong with an object is its answer."""


class _Handler(BaseHTTPRequestHandler):
    server: Webhook
    timeout = _PATIENCE
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/healthz" else 404, {})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path.partition("?")[0] != "/validate":
            return self._answer(404, {})
        if not length.isdecimal():
            return self._answer(411, {"error": "Content-Length is wanted"})
        if int(length) > LARGEST:
            return self._answer(413, {"error": f"more than {LARGEST} bytes"})
        if not self.server.room.acquire(blocking=False):
            return self._answer(503, {"error": "too many at once"})
        try:
            review = json.loads(self.rfile.read(int(length)))
            return self._answer(200, reviewed(review, self.server.asked))
        except (ValueError, RecursionError):
            return self._answer(400, {"error": "no AdmissionReview"})
        finally:
            self.server.room.release()

    def _answer(self, code: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        if code != 200:
            self.close_connection = True  # the body may be unread
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Objects of others are no log lines of ours."""


def served(host: str, port: int, cert: str, key: str, asked: Asked) -> Webhook:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(cert, key)
    return Webhook((host, port), context, asked)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m stablint.integrate.kubernetes", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument("--cert", required=True, help="the certificate, PEM")
    parser.add_argument("--key", required=True, help="its key, PEM")
    parser.add_argument("--host", default="0.0.0.0", help="the address to listen at (default: every one of the pod)")
    parser.add_argument("--port", type=int, default=8443)
    parser.add_argument("--gpu", help="the GPU of the cluster, where the pods' nodeSelector does not say it")
    parser.add_argument(
        "--gpu-memory", metavar="GIB[ xN]", help="what a run can have of each card: a slice, or one that has no name"
    )
    parser.add_argument(
        "--with", dest="releases", action="append", default=[], metavar="PKG==VERSION", help="releases in the images"
    )
    given = parser.parse_args(words)
    server = served(
        given.host, given.port, given.cert, given.key, asked_of(given.gpu, None, given.releases, (), given.gpu_memory)
    )
    exit.tell(f"listening at {given.host}:{server.server_port}")
    server.serve_forever()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
