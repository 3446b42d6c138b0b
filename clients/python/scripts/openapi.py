"""Reads the OpenAPI document and the names that our clients give its operations."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Schema = dict[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")
# What the document tells about itself and no caller needs: values that are always
# refused, and second names of other parameters.
POINTLESS = ("Not offered by this server", "The same as ")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a call, or a field of its body."""

    wire: str
    schema: Schema
    required: bool
    doc: str

    @property
    def name(self) -> str:
        return snake(self.wire)


@dataclass(frozen=True)
class Operation:
    """A call of the API."""

    id: str
    resource: str
    method_name: str
    method: str
    path: str
    summary: str
    doc: str
    replay: bool
    in_path: list[Parameter]
    in_query: list[Parameter]
    body: str  # the schema of a JSON body, "bytes", or nothing
    answer: Schema  # of the JSON answer; empty when there is none
    kind: str  # call, list, download or states
    fields: list[Parameter] = field(default_factory=lambda: [])


class Document:
    """The whole API."""

    def __init__(self, openapi: Path, names: Path) -> None:
        # The C loader reads half a megabyte in a tenth of the time, where it is there.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.root: Schema = yaml.load(openapi.read_text(encoding="utf-8"), Loader=loader)
        self.schemas: dict[str, Schema] = self.root["components"]["schemas"]
        self.names: dict[str, str] = json.loads(names.read_text(encoding="utf-8"))
        self.operations = sorted(self._operations(), key=lambda o: list(self.names).index(o.id))

    def _operations(self) -> list[Operation]:
        found: list[Operation] = []
        for path, item in self.root["paths"].items():
            for method in METHODS:
                if method not in item:
                    continue
                operation = item[method]
                name = self.names.get(operation["operationId"])
                if name is None:
                    raise SystemExit(f'{operation["operationId"]} has no name in api/clients.json: add one, or "-"')
                if name != "-":
                    found.append(self._operation(path, method, operation, name))
        return found

    def _operation(self, path: str, method: str, raw: Schema, name: str) -> Operation:
        parameters = raw.get("parameters", [])
        body, answer, kind = self._body(raw), {}, "call"
        for status, response in sorted(raw["responses"].items()):
            content = response.get("content", {})
            if method == "delete":
                pass  # what is gone has nothing to tell
            elif status.startswith("2") and "application/json" in content:
                answer = content["application/json"]["schema"]
            elif status.startswith("2") and list(content) == ["text/event-stream"]:
                kind = "states"
            elif status == "302":
                kind = "download"
        if kind == "call" and self.listed(answer):
            kind = "list"
        resource, method_name = name.split(".")
        fields = self.fields(body) if body not in ("", "bytes") else []
        twice = [f.wire for f in fields]  # what a body may say need not be said in the query
        return Operation(
            id=raw["operationId"],
            resource=resource,
            method_name=method_name,
            method=method.upper(),
            path=path,
            summary=raw.get("summary", ""),
            doc=raw.get("description", ""),
            replay=method not in ("post", "patch") or any(p["name"] == "Idempotency-Key" for p in parameters),
            in_path=[parameter(p) for p in parameters if p["in"] == "path"],
            in_query=[
                parameter(p) for p in parameters if p["in"] == "query" and not pointless(p) and p["name"] not in twice
            ],
            body=body,
            answer=answer,
            kind=kind,
            fields=fields,
        )

    def _body(self, raw: Schema) -> str:
        content = raw.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            return ref_name(content["application/json"]["schema"])
        return "bytes" if content else ""

    def fields(self, name: str) -> list[Parameter]:
        """The fields of a schema that callers fill in, required ones first."""
        schema = self.schemas[name]
        required = schema.get("required", [])
        found = [
            Parameter(wire, prop, wire in required, prop.get("description", ""))
            for wire, prop in schema.get("properties", {}).items()
            if not pointless(prop) and not prop.get("deprecated")
        ]
        return sorted(found, key=lambda p: not p.required)

    def own_names(self, text: str) -> str:
        """A text with operations called what they are called here."""
        return re.sub(r"\b[a-z]+[A-Z]\w+\b", lambda m: self.names.get(m[0], "-").replace("-", m[0]), text)

    def listed(self, answer: Schema) -> tuple[str, Schema] | None:
        """The member and the items of an answer that is a list and nothing else."""
        name = ref_name(answer)
        if not name.startswith("List"):
            return None
        members = {n: p for n, p in self.schemas[name]["properties"].items() if n != "page_info"}
        if len(members) != 1:
            return None
        [(member, schema)] = members.items()
        return (member, schema["items"]) if schema.get("type") == "array" else None


def parameter(raw: Schema) -> Parameter:
    doc = raw.get("description", "").replace("Repeatable.", "One or several.")
    return Parameter(raw["name"], raw["schema"], raw.get("required", False), doc)


def pointless(raw: Schema) -> bool:
    return raw.get("description", "").startswith(POINTLESS)


def ref_name(schema: Schema) -> str:
    """The name of the schema that is referred to, or nothing."""
    return schema.get("$ref", "").rsplit("/", 1)[-1]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).replace("-", "_").lower()
