"""I-3: making a client, and what a single call sends and returns."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

import anyio
import httpx
import pytest
from scripted import KEY, mocked

import lineshaft
from lineshaft import NOT_GIVEN


@pytest.mark.parametrize(
    ("url", "key", "words"),
    [
        ("127.0.0.1:8484", "ls_k", "not an http or https URL"),
        ("ftp://host", "ls_k", "not an http or https URL"),
        ("http:///api", "ls_k", "not an http or https URL"),
        ("http://host:port", "ls_k", "not an http or https URL"),
        ("", "ls_k", "LINESHAFT_URL"),
        ("http://u:secret@host", "ls_k", "user name or password"),
        ("http://host?x=1", "ls_k", "query or a fragment"),
        ("http://host#x", "ls_k", "query or a fragment"),
        ("http://host", "", "lineshaft apikey create"),
        ("http://host", "ls_k\n", "copy it again"),
        ("http://host", "ls_k\r\nX: y", "copy it again"),
        ("http://host", "ls_é", "copy it again"),
    ],
)
def test_i3_a_client_that_cannot_work_is_refused(url: str, key: str, words: str) -> None:
    with pytest.raises(lineshaft.ConfigurationError) as refused:
        lineshaft.Lineshaft(base_url=url, api_key=key)
    assert words in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://h:1", "http://h:1/", "http://h:1/api/v1", "http://h:1/api/v1/"])
def test_i3_the_address_may_have_the_path_of_the_api(url: str) -> None:
    assert lineshaft.Lineshaft(base_url=url, api_key=KEY).base_url == "http://h:1/api/v1"


def test_i3_the_environment_names_server_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESHAFT_URL", "http://from.env/prefix")
    monkeypatch.setenv("LINESHAFT_API_KEY", KEY)
    client = lineshaft.Lineshaft()
    assert client.base_url == "http://from.env/prefix/api/v1"
    assert client._transport.settings.api_key == KEY
    assert lineshaft.Lineshaft(base_url="http://given").base_url == "http://given/api/v1"
    assert lineshaft.AsyncLineshaft().base_url == "http://from.env/prefix/api/v1"


def test_i3_the_key_is_not_shown() -> None:
    client = mocked(lambda _: httpx.Response(401, json={"detail": f"no key {KEY}"}))
    with pytest.raises(lineshaft.AuthenticationError) as refused:
        client.server.whoami()
    shown = [client, client._transport.settings, client.runs, refused.value, refused.value.body, vars(refused.value)]
    assert KEY not in "".join(f"{thing} {thing!r}" for thing in shown)


def seen(**changes: Any) -> tuple[lineshaft.Lineshaft, list[httpx.Request]]:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"run_id": "r1", "state": "QUEUED"})

    return mocked(answer, **changes), requests


def test_i3_a_create_as_it_is_sent() -> None:
    client, requests = seen(headers={"X-Team": "blue"})
    answer = client.runs.create(
        prompt="Say häl 'lo'", config={"model_id": "m", "harness": {"type": "shell"}}, metadata={"a": "b"}
    )
    assert answer.run_id == "r1"
    [request] = requests
    assert (request.method, str(request.url)) == ("POST", "http://lineshaft.test/api/v1/agent/runs")
    assert json.loads(request.content) == {
        "prompt": "Say häl 'lo'",
        "config": {"model_id": "m", "harness": {"type": "shell"}},
        "metadata": {"a": "b"},
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"] == f"lineshaft-python/{lineshaft.__version__}"
    assert request.headers["x-team"] == "blue"
    assert len(request.headers["idempotency-key"]) == 32


def test_i3_a_model_may_be_sent_again() -> None:
    client, requests = seen()
    config = lineshaft.models.AmbientAgentConfig.model_validate({"model_id": "m", "newer": [1]})
    client.runs.create(prompt="x", config=config)
    assert json.loads(requests[0].content)["config"] == {"model_id": "m", "newer": [1]}


def test_i3_queries_as_they_are_sent() -> None:
    client, requests = seen()
    page = client.runs.list(
        state=["QUEUED", "FAILED"],
        source="API",
        factory_only=True,
        metadata={"a b": "c&d"},
        created_after=datetime(2026, 1, 2, 3, 4, 5, 6000, timezone(timedelta(hours=2))),
        limit=5,
        q="ä?",
    )
    assert page.items == []
    assert requests[0].url.params.multi_items() == [
        ("state", "QUEUED"),
        ("state", "FAILED"),
        ("source", "API"),
        ("created_after", "2026-01-02T01:04:05.006000Z"),
        ("factory_only", "true"),
        ("metadata[a b]", "c&d"),
        ("q", "ä?"),
        ("limit", "5"),
    ]


@pytest.mark.parametrize(
    ("given", "sent"), [({}, {}), ({"description": None}, {"description": None}), ({"name": None}, {})]
)
def test_i3_null_differs_from_nothing_where_it_can(given: dict[str, Any], sent: dict[str, Any]) -> None:
    client, requests = seen()
    operation = {"repository": given["description"]} if "description" in given else given
    wanted = {"repository": None} if "description" in sent else sent
    client.factories.update("f1", **operation)
    assert json.loads(requests[0].content) == wanted
    assert not NOT_GIVEN and repr(NOT_GIVEN) == "NOT_GIVEN"


@pytest.mark.parametrize("bad", ["", ".", ".."])
def test_i3_an_id_that_a_path_would_swallow_is_refused(bad: str) -> None:
    client, requests = seen()
    with pytest.raises(ValueError, match="is not an id"):
        client.runs.get(bad)
    assert requests == []


def test_i3_ids_are_escaped() -> None:
    client, requests = seen()
    client.runs.get("a/b?c#d e")
    assert requests[0].url.raw_path == b"/api/v1/agent/runs/a%2Fb%3Fc%23d%20e"


def test_i3_options_of_one_call() -> None:
    client, requests = seen()
    client.runs.create(
        prompt="x",
        timeout=3,
        idempotency_key="mine",
        extra_headers={"X-One": "1"},
        extra_query={"beta": True},
        extra_body={"future": {"a": 1}},
    )
    [request] = requests
    assert request.extensions["timeout"] == {"connect": 3, "read": 3, "write": 3, "pool": 3}
    assert request.headers["idempotency-key"] == "mine" and request.headers["x-one"] == "1"
    assert str(request.url).endswith("?beta=true")
    assert json.loads(request.content) == {"prompt": "x", "future": {"a": 1}}


@pytest.mark.parametrize("name", ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"])
def test_h9_a_callers_key_is_sent_once_and_as_given(name: str) -> None:
    client, requests = seen(headers={name: "of the client"})
    client.runs.create(prompt="x")
    client.runs.create(prompt="x", idempotency_key="of the call")
    client.runs.create(prompt="x", extra_headers={name: "of the headers"})
    client.post("/x", idempotency_key="other", extra_headers={name: "of the headers"})
    sent = [request.headers.get_list("idempotency-key") for request in requests]
    assert sent == [["of the client"], ["of the call"], ["of the headers"], ["of the headers"]]


def test_i3_headers_are_one_whatever_their_case() -> None:
    client, requests = seen(headers={"user-agent": "mine", "ACCEPT": "x/y", "authorization": "none", "x-a": "1"})
    client.with_options(headers={"X-A": "2"}).runs.create(prompt="x", extra_headers={"content-type": "text/json"})
    headers = requests[0].headers
    for name, value in {
        "user-agent": "mine",
        "accept": "application/json",
        "authorization": f"Bearer {KEY}",
        "content-type": "text/json",
        "x-a": "2",
    }.items():
        assert headers.get_list(name) == [value]


def calls_with_typos(client: Any) -> list[tuple[Callable[[], Any], str]]:
    return [
        (lambda: client.runs.create(prompt="x", titel="y"), r"Runs\.create\(\).*'titel' \(did you mean 'title'\?\)"),
        (lambda: client.runs.list(stat="FAILED"), r"'stat' \(did you mean 'state'\?\)"),
        (lambda: client.runs.get("r1", time_out=3), r"'time_out' \(did you mean 'timeout'\?\)"),
        (lambda: client.runs.delete("r1", qqqqq=3, forse=1), r"'qqqqq', 'forse'.*extra_body"),
        (lambda: client.artifacts.download("a", extra_header={}), r"did you mean 'extra_headers'\?"),
        (lambda: client.runs.stream_states(nam="x"), r"did you mean 'name'\?"),
        (lambda: client.get("/x", qeury={}), r"did you mean 'query'\?"),
    ]


@pytest.mark.parametrize("number", range(7))
def test_i3_an_unknown_argument_is_refused(number: int) -> None:
    client, requests = seen()
    call, words = calls_with_typos(client)[number]
    with pytest.raises(TypeError, match=words):
        call()
    assert requests == []


@pytest.mark.parametrize("number", range(7))
def test_i3_an_unknown_argument_is_refused_async(number: int) -> None:
    async def run() -> None:
        call, words = calls_with_typos(lineshaft.AsyncLineshaft(base_url="http://h", api_key=KEY))[number]
        with pytest.raises(TypeError, match=words):
            await call()

    anyio.run(run)


def test_i3_with_options_shares_the_connections() -> None:
    client, requests = seen(timeout=1)
    other = client.with_options(timeout=None, max_retries=7, headers={"X-A": "b"})
    other.runs.get("r1")
    client.runs.get("r1")
    assert requests[0].extensions["timeout"]["read"] is None and requests[0].headers["x-a"] == "b"
    assert requests[1].extensions["timeout"]["read"] == 1 and "x-a" not in requests[1].headers
    assert other._transport.http is client._transport.http
    other.close()
    assert not client._transport.http.is_closed


def test_i3_undocumented_endpoints() -> None:
    client, requests = seen()
    assert client.get("/new/thing", query={"a": [1, 2]}) == {"run_id": "r1", "state": "QUEUED"}
    client.post("/new/thing?x=1", body=[1], query={"y": "2"})
    client.put("/p", body={"when": datetime(2026, 1, 1, tzinfo=timezone.utc)})
    client.patch("/p", body={})
    client.delete("/p")
    assert [f"{r.method} {r.url.raw_path.decode()}" for r in requests] == [
        "GET /api/v1/new/thing?a=1&a=2",
        "POST /api/v1/new/thing?x=1&y=2",
        "PUT /api/v1/p",
        "PATCH /api/v1/p",
        "DELETE /api/v1/p",
    ]
    assert json.loads(requests[2].content) == {"when": "2026-01-01T00:00:00Z"}
    assert "idempotency-key" in requests[1].headers and "idempotency-key" not in requests[0].headers


@pytest.mark.parametrize("path", ["https://evil.test/x", "//evil.test/x", "x", "", "/a/../../b", "/x#y"])
def test_i3_a_path_stays_on_the_server(path: str) -> None:
    client, requests = seen()
    with pytest.raises(ValueError, match="the path"):
        client.get(path)
    assert requests == []


def test_i3_raw_responses() -> None:
    client = mocked(lambda _: httpx.Response(200, json={"run_id": "r1"}, headers={"X-Request-Id": "q"}))
    raw = client.with_raw_response(client.runs.get, "r1", timeout=2)
    assert raw.value.run_id == "r1" and raw.json() == {"run_id": "r1"} and raw.text == '{"run_id":"r1"}'
    assert (raw.status_code, raw.request_id, raw.headers["X-REQUEST-ID"], raw.attempts) == (200, "q", "q", 1)
    with pytest.raises(ValueError, match="sends nothing"):
        client.with_raw_response(client.runs.stream, "r1")


def test_i3_a_body_that_is_no_json_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    client = mocked(lambda _: httpx.Response(200, text="<html>"))
    for call in (client.server.whoami, client.runs.list, lambda: client.get("/x")):
        with pytest.raises(lineshaft.APIResponseError, match="not what was expected"):
            call()
    assert capsys.readouterr() == ("", "")


NESTED = b"[" * 200_000


def test_i3_a_body_that_is_nested_without_end_is_told() -> None:
    client = mocked(lambda _: httpx.Response(200, content=NESTED))
    for call in (client.server.whoami, client.runs.list, lambda: client.get("/x")):
        with pytest.raises(lineshaft.APIResponseError, match="not what was expected"):
            call()
    client = mocked(lambda _: httpx.Response(400, content=NESTED))
    with pytest.raises(lineshaft.BadRequestError):
        client.runs.list()


def test_i3_a_wrong_key_is_told_with_what_to_do() -> None:
    for code, words in (("authentication_required", "d: the server does not accept"), ("proxy", "proxy: a header;")):
        problem = {"code": code, "detail": "a header"}
        client = mocked(lambda _, problem=problem: httpx.Response(401, json=problem))
        with pytest.raises(lineshaft.AuthenticationError) as refused:
            client.runs.list()
        assert refused.value.detail == "a header"
        for told in (words, "LINESHAFT_API_KEY", "lineshaft apikey create", "admin.key"):
            assert told in str(refused.value)


def failing(error: Exception | int) -> Exception:
    def answer(_: httpx.Request) -> httpx.Response:
        if isinstance(error, int):
            problem = {"code": "x_y", "detail": "why", "problems": [{"file": "a"}]}
            return httpx.Response(error, json=problem, headers={"Retry-After": "3"})
        raise error

    with pytest.raises(lineshaft.LineshaftError) as failed:
        mocked(answer, max_retries=0, stream_retries=0).runs.get("r1")
    return failed.value


ERRORS = [
    *(failing(status) for status in (400, 401, 404, 418, 429, 500)),
    failing(httpx.ConnectError("x")),
    failing(httpx.ReadTimeout("x")),
    lineshaft.StreamError("gone", method="GET", path="/x", gave_up=True),
    lineshaft.WaitTimeoutError("r1", 3, "QUEUED"),
    lineshaft.ConfigurationError("x"),
    lineshaft.callbacks.VerificationError("x"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("through", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_i3_errors_travel_between_processes(error: Exception, through: Callable[[Exception], Exception]) -> None:
    came = through(error)
    assert type(came) is type(error) and str(came) == str(error) and came.args == error.args
    assert vars(came) == vars(error)


def test_i3_errors_have_their_class_and_what_the_server_said() -> None:
    problem = {
        "type": "https://h/docs/errors/resource-not-found",
        "title": "Not found",
        "detail": "no such run",
        "instance": "/api/v1/agent/runs/r1",
        "trace_id": "t",
        "problems": [{"file": "a.yaml"}],
    }
    client = mocked(lambda _: httpx.Response(404, json=problem, headers={"x-request-id": "q"}))
    with pytest.raises(lineshaft.NotFoundError) as refused:
        client.runs.get("r1")
    error = refused.value
    assert (error.status_code, error.code, error.title, error.detail) == (
        404,
        "resource_not_found",
        "Not found",
        "no such run",
    )
    assert (error.trace_id, error.request_id, error.problems) == ("t", "q", [{"file": "a.yaml"}])
    assert str(error) == "GET /agent/runs/r1: 404 resource_not_found: no such run (request q)"
    assert isinstance(error, lineshaft.APIStatusError) and isinstance(error, lineshaft.LineshaftError)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, lineshaft.BadRequestError),
        (401, lineshaft.AuthenticationError),
        (403, lineshaft.PermissionDeniedError),
        (404, lineshaft.NotFoundError),
        (405, lineshaft.APIStatusError),
        (409, lineshaft.ConflictError),
        (413, lineshaft.PayloadTooLargeError),
        (422, lineshaft.UnprocessableError),
        (429, lineshaft.RateLimitError),
        (500, lineshaft.InternalServerError),
        (599, lineshaft.InternalServerError),
        (304, lineshaft.APIStatusError),
    ],
)
@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'{"code": 5, "problems": "x", "detail": null}', b"\xff\xfe"])
def test_i3_error_classes_whatever_the_body(status: int, kind: type[Exception], body: bytes) -> None:
    client = mocked(lambda _: httpx.Response(status, content=body), max_retries=0)
    with pytest.raises(lineshaft.APIStatusError) as refused:
        client.runs.get("r1")
    assert type(refused.value) is kind and refused.value.code == "" and refused.value.problems == []


def test_i3_a_given_http_client_stays_open() -> None:
    http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(204)))
    with lineshaft.Lineshaft(base_url="http://h", api_key=KEY, http_client=http):
        pass
    assert not http.is_closed
    with lineshaft.Lineshaft(base_url="http://h", api_key=KEY) as own:
        pass
    assert own._transport.http.is_closed
