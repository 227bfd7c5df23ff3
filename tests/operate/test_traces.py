"""One trace leads from a message over HTTP to the sandbox, and from a run's task to its tool."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from agents.tokens import token_create
from chat.llm import library
from config.lib import traces
from tests import factories
from tests.fakes.model_server import MODEL, Call, served
from tests.live import Process, environment, eventually
from tests.sequences.workshop import sequence_of, step
from tests.web_process import web_process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("traces")]

CALLER = "0af7651916cd43dd8448eb211c80319c"
SECRET = "canary-words-of-a-person-4711"
TASK = "process sequences.tasks.execute_run"


@dataclass
class Collector:
    """An OTLP receiver on this machine."""

    url: str = ""
    spans: list[tuple[str, Span]] = field(default_factory=list)

    def named(self, start: str) -> list[Span]:
        """Return the spans whose names begin so."""
        return [span for _, span in list(self.spans) if span.name.startswith(start)]

    def services(self) -> set[str]:
        return {service for service, _ in list(self.spans)}


@pytest.fixture
def collector() -> Iterator[Collector]:
    told = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                named = {a.key: a.value.string_value for a in resource.resource.attributes}
                for scope in resource.scope_spans:
                    told.spans += [(named["service.name"], span) for span in scope.spans]
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}"
    yield told
    server.shutdown()
    server.server_close()
    thread.join()


def traced(collector: Collector) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}


def test_a_trace_leads_from_a_message_to_the_sandbox_and_holds_no_contents(
    alice: User, collector: Collector, tmp_path: Path, sandbox_service: object
) -> None:
    library.load()
    factories.make_run_code()
    tools = [factories.make_builtin("calculator")]
    agent = factories.make_agent(alice, *tools, model=MODEL, code_execution=True)
    conversation = factories.make_conversation(alice, agent)
    _, token = token_create(alice, name="t")
    with served() as model:
        model.calls(Call("run_code", {"code": f"print(6 * 7)  # {SECRET}"}))
        model.enqueue("It is 42.")
        env = {
            **traced(collector),
            "OPENAI_API_BASE": model.url,
            "OPENAI_API_KEY": "sk-scripted-secret-key",
            "LOG_FORMAT": "json",
        }
        with web_process(tmp_path, env=env, patience=3) as (process, port):
            answer = httpx.post(
                f"http://127.0.0.1:{port}/api/v1/conversations/{conversation.pk}/messages/",
                json={"content": f"Compute. {SECRET}"},
                headers={
                    "Authorization": f"Bearer {token}",
                    "traceparent": f"00-{CALLER}-b7ad6b7169203331-01",
                    "X-Request-ID": "journey-0001-test",
                },
                timeout=90,
            )
            assert answer.status_code == 200, answer.text
            eventually(lambda: collector.named("sandbox execute"), what="the span of the sandbox")
            eventually(lambda: collector.named("POST "), what="the span of the request")
            eventually(lambda: collector.named("invoke_agent"), what="the span of the turn")
    spans = {span.span_id: span for _, span in collector.spans}
    [sandboxed] = collector.named("sandbox execute")
    chain, at = [], sandboxed
    while at is not None:
        chain.append(at.name.split(" ")[0])
        at = spans.get(at.parent_span_id)
    assert chain == ["sandbox", "execute", "execute_tool", "invoke_agent", "POST"]
    assert {span.trace_id.hex() for span in collector.named("POST ")} == {CALLER}
    assert sandboxed.trace_id.hex() == CALLER
    assert len(collector.named("chat ")) == 2
    assert collector.services() == {"outfitter-web"}
    told = b"".join(span.SerializeToString() for span in spans.values())
    for secret in (SECRET, token, "sk-scripted-secret-key", "It is 42"):
        assert secret.encode() not in told
    _assert_logged(process.log.read_text(), token)


def _assert_logged(log: str, token: str) -> None:
    """Look through all that the process logged on the way."""
    for secret in (SECRET, token, "sk-scripted-secret-key", "It is 42"):
        assert secret not in log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    [access] = [line for line in lines if line["logger"] == "outfitter.access"]
    assert access["request_id"] == "journey-0001-test"
    assert access["caller"] == "token"
    assert access["route"] == "/api/v1/conversations/<uuid:conversation_id>/messages/"
    assert access["process"] == "web"


def test_the_trace_of_a_request_goes_on_in_the_worker_whose_counts_the_web_process_tells(
    alice: User, collector: Collector, tmp_path: Path
) -> None:
    calculator = factories.make_builtin("calculator")
    tool = sequence_of(
        alice, step(calculator, inputMapping={"expression": {"source": "static", "value": "6*7"}})
    )
    _, token = token_create(alice, name="t")
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-c", "1", "-l", "info"]
    together = {**traced(collector), "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "counts")}
    env = {**environment(), **together, "LOG_FORMAT": "json"}
    worker = Process("worker", command, env, tmp_path / "worker.log")
    worker.start()
    try:
        with web_process(tmp_path, env=together) as (_, port):
            answer = httpx.post(
                f"http://127.0.0.1:{port}/api/v1/tools/{tool.pk}/run/",
                json={"arguments": {}},
                headers={"Authorization": f"Bearer {token}", "X-Request-ID": "run-0001-test"},
                timeout=60,
            )
            assert answer.status_code < 300, answer.text
            eventually(lambda: collector.named("run "), seconds=60, what="the run's span")
            # it ends behind the run, and the worker's own end may not send what is left
            eventually(lambda: collector.named(TASK), what="the task's span")
            eventually(lambda: collector.named("POST "), what="the request's span")
            told = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=30).text
    finally:
        worker.stop()
    for counted in ("runs_total", "steps_total"):  # by the worker, told by the web process
        assert f'outfitter_{counted}{{status="succeeded"}} 1.0' in told
    [run] = collector.named("run ")
    [request] = collector.named("POST ")
    assert run.trace_id == request.trace_id
    assert {"step 1", TASK} <= {
        span.name for _, span in collector.spans if span.trace_id == run.trace_id
    }
    assert collector.services() == {"outfitter-web", "outfitter-worker"}
    lines = [
        json.loads(line)
        for line in worker.log.read_text().splitlines()
        if line.startswith("{") and '"run-0001-test"' in line
    ]
    assert {line["process"] for line in lines} == {"worker"}


def test_without_an_endpoint_nothing_is_traced_nor_imported() -> None:
    assert not traces.is_on()
    assert traces.begun("chat") is traces.NOTHING
    with traces.span("turn", a=1) as span:
        assert span is traces.NOTHING
    assert traces.headers() == {}
    assert traces.here() is None


@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_standard_variables_turn_traces_on(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], *, on: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert traces._Tracing().on is on
