"""Writes one module for each resource, and the list of all of them."""

from __future__ import annotations

import re
import textwrap

from emit_types import WIDTH
from openapi import Document, Operation, Parameter, ref_name
from pytypes import Types, closure, nullable, pascal, references

# Resources with methods that are written by hand, in resources/.
EXTENDED = ("runs",)
CLASS_NAMES = {"apikeys": "APIKeys"}
OPTIONS = ("timeout", "max_retries", "idempotency_key", "extra_headers", "extra_query", "extra_body")


def class_name(resource: str) -> str:
    return CLASS_NAMES.get(resource, pascal(resource))


def resources(document: Document) -> list[str]:
    return list(dict.fromkeys(o.resource for o in document.operations))


def module(document: Document, resource: str) -> str:
    """The text of the module of a resource."""
    operations = [o for o in document.operations if o.resource == resource]
    body = ""
    for asynchronous in (False, True):
        prefix, base = ("Async", "AsyncResource") if asynchronous else ("", "Resource")
        body += f"\n\nclass {prefix}{class_name(resource)}({base}):\n"
        body += f'    """Calls about {resource}{", to be awaited" if asynchronous else ""}."""\n'
        body += "".join(Method(document, o, asynchronous).text() for o in operations)
    return _head(resource, body) + body


def _head(resource: str, body: str) -> str:
    typing = [n for n in ("Any", "Mapping", "Sequence") if re.search(rf"[\[ ]{n}[\],\[]| {n} =", body)]
    local = {
        "_download": ("AsyncDownload", "Download"),
        "_options": ("NOT_GIVEN", "CallOptions", "NotGiven", "checked"),
        "_pages": ("AsyncPages", "Page"),
        "_request": ("Request", "fields", "path"),
        "_resource": ("AsyncResource", "Resource"),
        "_stream": ("AsyncEventStream", "EventStream"),
    }
    lines = [
        f'"""Calls about {resource}. Made by scripts/generate.py; do not edit."""\n\n',
        "from __future__ import annotations\n\n",
    ]
    if "datetime" in body:
        lines.append("from datetime import datetime\n")
    if typing:
        lines.append(f"from typing import {', '.join(typing)}\n")
    lines += ["\n", "from typing_extensions import Unpack\n\n"]
    if "Literal[" in body:
        lines[-1] = "from typing_extensions import Literal, Unpack\n\n"
    used = [n for n in ("models", "params") if f"{n}." in body]
    if used:
        lines.append(f"from .. import {', '.join(used)}\n")
    for source, names in local.items():
        wanted = [n for n in names if re.search(rf"(?<![\w.\"]){n}(?=[\[(),:\]]| =|$)", body, re.MULTILINE)]
        if wanted:
            lines.append(f"from ..{source} import {', '.join(wanted)}\n")
    return "".join(lines).replace("annotations\n\n\n", "annotations\n\n")


class Method:
    """Writes one call."""

    def __init__(self, document: Document, operation: Operation, asynchronous: bool) -> None:
        self.document = document
        self.operation = operation
        self.asynchronous = asynchronous
        self.answers = Types(document, answers=True, prefix="models.", enums="models.")
        self.arguments = Types(document, answers=False, prefix="params.", enums="models.")
        self._check()

    def _check(self) -> None:
        names = [p.name for p in [*self.operation.in_path, *self.operation.in_query, *self.operation.fields]]
        clash = {n for n in names if names.count(n) > 1 or n in OPTIONS}
        if clash:
            raise SystemExit(f"{self.operation.id}: {sorted(clash)} would be several arguments of one name")

    def text(self) -> str:
        awaits = self.asynchronous and self.operation.kind == "call"
        head = f"\n    {'async ' if awaits else ''}def {self.operation.method_name}(\n        self,\n"
        return head + self._signature() + f"    ) -> {self._returns()}:\n" + self._doc() + self._body(awaits)

    def _signature(self) -> str:
        lines = [
            f"        {p.name}: {'int' if p.schema.get('type') == 'integer' else 'str'},\n"
            for p in self.operation.in_path
        ]
        keywords = [self._field(f) for f in self.operation.fields]
        keywords += ["        content: bytes,\n"] if self.operation.body == "bytes" else []
        keywords += [self._query(q) for q in self.operation.in_query]
        keywords.sort(key=lambda line: "=" in line)  # stable: required ones first
        if keywords:
            lines += ["        *,\n", *keywords]
        return "".join(lines) + "        **options: Unpack[CallOptions],\n"

    def _field(self, field: Parameter) -> str:
        kind = self.arguments.of(field.schema, self.operation.body + pascal(field.wire))
        name = ref_name(field.schema)
        if name and kind.startswith("params.") and self._answered(name):
            kind += f" | models.{name}"
        if nullable(field.schema):
            kind += " | None"
        if field.required:
            return f"        {field.name}: {kind},\n"
        if nullable(field.schema):
            return f"        {field.name}: {kind} | NotGiven = NOT_GIVEN,\n"
        return f"        {field.name}: {kind}{'' if kind == 'Any' else ' | None'} = None,\n"

    def _answered(self, name: str) -> bool:
        return name in answered(self.document)

    def _query(self, query: Parameter) -> str:
        kind = self.arguments.of(query.schema, "")
        if query.schema.get("type") == "array":
            kind = f"{self.arguments.of(query.schema['items'], '')} | {kind}"
        if query.required:
            return f"        {query.name}: {kind},\n"
        return f"        {query.name}: {kind} | None = None,\n"

    def _item(self) -> str:
        listed = self.document.listed(self.operation.answer)
        assert listed
        return self.answers.of(listed[1], "")

    def _returns(self) -> str:
        prefix = "Async" if self.asynchronous else ""
        if self.operation.kind == "list":
            return f"{'AsyncPages' if self.asynchronous else 'Page'}[{self._item()}]"
        if self.operation.kind == "download":
            return f"{prefix}Download"
        if self.operation.kind == "states":
            return f"{prefix}EventStream"
        return self._kind() or "None"

    def _kind(self) -> str:
        if not self.operation.answer:
            return ""
        return self.answers.of(self.operation.answer, "").replace("Dict[", "dict[")

    def _doc(self) -> str:
        text = self.operation.summary.rstrip(".") + "."
        if self.operation.doc:
            text += "\n\n" + self.document.own_names(self.operation.doc)
        told = [p for p in [*self.operation.in_path, *self.operation.fields, *self.operation.in_query] if p.doc]
        paragraphs = [_fill(p, " " * 8) for p in text.split("\n\n")]
        if told:
            lines = [_fill(f"{p.name}: {p.doc}", " " * 10, " " * 12) for p in told]
            paragraphs.append("        Args:\n" + "\n".join(lines))
        joined = "\n\n".join(paragraphs).lstrip()
        if "\n" not in joined and len(joined) < WIDTH - 14:
            return f'        """{joined}"""\n'
        return f'        """{joined}\n        """\n'

    def _body(self, awaits: bool) -> str:
        o = self.operation
        path = f'"{re.sub("{[^}]*}", "{}", o.path)}"'
        if o.in_path:
            path = f"path({', '.join([path, *(p.name for p in o.in_path)])})"
        lines = [f'"{o.method}",', f"{path},"]
        if o.in_query:
            lines.append("query={" + ", ".join(f'"{q.wire}": {q.name}' for q in o.in_query) + "},")
        if o.body == "bytes":
            lines.append("content=content,")
        elif o.body:
            given = ", ".join(f'"{f.wire}": {f.name}' for f in o.fields)
            nulls = [f.wire for f in o.fields if nullable(f.schema)]
            lines.append(f"body=fields({{{given}}}{', nullable=' + repr(nulls) if nulls else ''}),".replace("'", '"'))
        if o.replay:
            lines.append("replay=True,")
        lines.append(f"options=checked(self.{o.method_name}, options),")
        request = "        request = Request(\n" + "".join(_member(line) for line in lines) + "        )\n"
        returns = "" if self._returns() == "None" else "return "
        return request + f"        {returns}{'await ' if awaits else ''}{self._send()}\n"

    def _send(self) -> str:
        listed = self.document.listed(self.operation.answer)
        if listed:
            return f'self._list(request, "{listed[0]}", {self._item()})'
        if self.operation.kind == "download":
            return "self._download(request)"
        if self.operation.kind == "states":
            return "self._states(request)"
        kind = self._kind()
        if self.operation.method == "DELETE":
            return "self._remove(request)"
        return f"self._call(request, {kind})" if kind else "self._run(request)"


def answered(document: Document) -> frozenset[str]:
    """The names of schemas that models.py has."""
    roots = [n for o in document.operations for n in references(o.answer)]
    return frozenset(closure(document, roots))


def _member(line: str) -> str:
    """One argument; a long dictionary or path in lines of its own."""
    if len(line) + 12 <= WIDTH:
        return f"            {line}\n"
    if line.startswith("path("):
        return "            path(\n" + " " * 16 + line[len("path(") : -2] + ",\n            ),\n"
    start, end = line.index("{"), line.rindex("}")
    inside = line[start + 1 : end].split(", ")
    pad = " " * 16
    return (
        f"            {line[:start]}{{\n"
        + "".join(f"{pad}{item},\n" for item in inside)
        + f"            }}{line[end + 1 :]}\n"
    )


def _fill(text: str, indent: str, hanging: str | None = None) -> str:
    text = " ".join(text.replace("\\", "\\\\").replace('"""', "'''").split())
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=hanging or indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def namespace(document: Document) -> str:
    """The text of resources.py, which has all resources."""
    lines = [
        '"""What a client offers, by noun. Made by scripts/generate.py; do not edit."""\n\nfrom __future__ import annotations\n\n'
    ]
    lines.append("from .._async_transport import AsyncTransport\nfrom .._transport import Transport\n")
    names = resources(document)
    for name in EXTENDED:
        lines.append(f"from ..resources.{name} import Async{class_name(name)}, {class_name(name)}\n")
    for name in sorted(set(names) - set(EXTENDED)):
        lines.append(f"from .{name} import {', '.join(sorted((f'Async{class_name(name)}', class_name(name))))}\n")
    for prefix, transport in (("", "Transport"), ("Async", "AsyncTransport")):
        lines.append(f'\n\nclass {prefix}Resources:\n    """The resources of a client."""\n\n')
        lines.append(f"    def __init__(self, transport: {transport}) -> None:\n")
        lines += [f"        self.{name} = {prefix}{class_name(name)}(transport)\n" for name in names]
    return "".join(lines)
