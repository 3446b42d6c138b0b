"""Writes models.py and params.py."""

from __future__ import annotations

import keyword
import textwrap

from openapi import Document, Schema, pointless
from pydantic_names import TAKEN
from pytypes import Types, closure, inline_name, nullable, pascal, references, repr_text

WIDTH = 100

MODELS_HEAD = '''"""What the server answers. Made by scripts/generate.py; do not edit.

Enums are open: a newer server may send further values, so fields are also str.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, List, Optional, Union

from pydantic import Field
from typing_extensions import Literal

from ._model import Model
'''

PARAMS_HEAD = '''"""What the server takes: the parts of requests, as dictionaries. Made by
scripts/generate.py; do not edit.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Mapping, Sequence, Union

from typing_extensions import Literal, Required, TypedDict

from . import models
'''


def models(document: Document) -> str:
    """The text of models.py."""
    roots = ["RunEvent", "RunItem"]
    for operation in document.operations:
        listed = document.listed(operation.answer)
        roots += references(listed[1]) if listed else references(operation.answer)
        # Enums are shared with requests.
        roots += [n for f in [*operation.fields, *operation.in_query] for n in enum_names(document, f.schema)]
    types = Types(document, answers=True)
    return MODELS_HEAD + "".join(_model(document, types, n) for n in closure(document, roots))


def params(document: Document) -> str:
    """The text of params.py."""
    roots = [name for o in document.operations for f in o.fields for name in references(f.schema)]
    types = Types(document, answers=False, enums="models.")
    body = "".join(_param(document, types, n) for n in closure(document, roots))
    head = PARAMS_HEAD if "Union[" in body else PARAMS_HEAD.replace(", Union", "")
    return head + body


def enum_names(document: Document, schema: Schema) -> list[str]:
    """The enums that are reached from a schema."""
    return [n for n in closure(document, list(references(schema))) if "enum" in document.schemas[n]]


def _model(document: Document, types: Types, name: str) -> str:
    schema = document.schemas[name]
    if "enum" in schema:
        return literal(name, schema)
    if "properties" not in schema:
        inline = "".join(_class(types, f"{name}Object", v) for _, v in inline_name(name, schema))
        return f"{inline}\n\n{name} = {types.of(schema, name + 'Object')}\n" + doc(schema.get("description", ""), "")
    return _class(types, name, schema)


def _class(types: Types, name: str, schema: Schema) -> str:
    inner, lines = "", [f"\n\nclass {name}(Model):\n"]
    lines.append(doc(schema.get("description", ""), "    ") + "\n" if schema.get("description") else "")
    for wire, prop in schema.get("properties", {}).items():
        place = name + pascal(wire)
        inner += "".join(_class(types, place, v) for _, v in inline_name(place, prop))
        required = wire in schema.get("required", [])
        kind = types.of(prop, place)
        if (nullable(prop) or not required) and kind != "Any":
            kind = f"Optional[{kind}]"
        field, default = wire, "" if required else " = None"
        if keyword.iskeyword(wire) or wire in TAKEN:
            field = wire + "_"
            default = f' = Field({"" if required else "default=None, "}alias="{wire}")'
        lines.append(f"    {field}: {wrap(kind)}{default}\n{doc(prop.get('description', ''), '    ')}")
    if not schema.get("properties"):
        lines.append("    pass\n" if not schema.get("description") else "")
    return inner + "".join(lines)


def _param(document: Document, types: Types, name: str) -> str:
    schema = document.schemas[name]
    if "enum" in schema:
        return ""  # those of models
    if "properties" not in schema:
        inline = "".join(_typed_dict(types, f"{name}Object", v) for _, v in inline_name(name, schema))
        return f"{inline}\n\n{name} = {as_runtime(types.of(schema, name + 'Object'))}\n" + doc(
            schema.get("description", ""), ""
        )
    return _typed_dict(types, name, schema)


def _typed_dict(types: Types, name: str, schema: Schema) -> str:
    members = {w: p for w, p in schema.get("properties", {}).items() if not pointless(p) and not p.get("deprecated")}
    inner, lines = "", []
    for wire, prop in members.items():
        place = name + pascal(wire)
        inner += "".join(_typed_dict(types, place, v) for _, v in inline_name(place, prop))
        kind = types.of(prop, place) + (" | None" if nullable(prop) else "")
        if wire in schema.get("required", []):
            kind = f"Required[{kind}]"
        lines.append((wire, kind, prop.get("description", "")))
    if any(keyword.iskeyword(wire) for wire in members):
        body = "".join(f'        "{wire}": "{kind}",\n' for wire, kind, _ in lines)
        return f'{inner}\n\n{name} = TypedDict(\n    "{name}",\n    {{\n{body}    }},\n    total=False,\n)\n'
    text = doc(schema.get("description", ""), "    ")
    text += "\n" if text else ""
    text += "".join(f"    {wire}: {wrap(kind)}\n{doc(told, '    ')}" for wire, kind, told in lines)
    return f"{inner}\n\nclass {name}(TypedDict, total=False):\n{text or '    pass' + chr(10)}"


def as_runtime(kind: str) -> str:
    """A union that is made while the module loads; | is too young for that."""
    return f"Union[{kind.replace(' | ', ', ')}]" if "|" in kind else kind


def literal(name: str, schema: Schema) -> str:
    values = ", ".join(repr_text(v) for v in schema["enum"] if v is not None)
    return f"\n\n{name} = {wrap(f'Literal[{values}]', 0)}\n" + doc(schema.get("description", ""), "")


def wrap(kind: str, indent: int = 4) -> str:
    """Breaks a long list of literals into lines."""
    start, end = kind.find("Literal["), kind.rfind('"]')
    if start < 0 or len(kind) + indent < WIDTH - 20:
        return kind
    inside = kind[start + len("Literal[") : end + 1]
    pad = " " * (indent + 4)
    lines = textwrap.wrap(inside, WIDTH - len(pad), break_long_words=False, break_on_hyphens=False)
    return f"{kind[:start]}Literal[\n" + "".join(f"{pad}{line}\n" for line in lines) + " " * indent + kind[end + 1 :]


def doc(text: str, indent: str) -> str:
    """A documentation string, or nothing."""
    text = " ".join(text.replace("\\", "\\\\").replace('"""', "'''").split())
    if not text:
        return ""
    if len(indent) + len(text) + 6 <= WIDTH and not text.endswith('"'):
        return f'{indent}"""{text}"""\n'
    return (
        textwrap.fill(
            text + (" " if text.endswith('"') else "") + '"""',
            WIDTH,
            initial_indent=indent + '"""',
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
    )
