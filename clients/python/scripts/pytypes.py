"""What schemas are in Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterator

from openapi import Document, Schema, ref_name

SCALARS = {"integer": "int", "number": "float", "boolean": "bool"}


def pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def is_object(schema: Schema) -> bool:
    return "properties" in schema


def variants(schema: Schema) -> list[Schema]:
    return [v for v in schema.get("oneOf", schema.get("anyOf", [])) if v.get("type") != "null"]


def nullable(schema: Schema) -> bool:
    kinds = schema.get("type")
    return (isinstance(kinds, list) and "null" in kinds) or any(
        v.get("type") == "null" for v in schema.get("oneOf", schema.get("anyOf", []))
    )


def base_type(schema: Schema) -> str:
    kinds = schema.get("type", "")
    return next(k for k in kinds if k != "null") if isinstance(kinds, list) else kinds


def inline_name(owner: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Objects that stand within a union get the name of their place."""
    for variant in variants(schema):
        if is_object(variant):
            yield owner, variant


@dataclass
class Types:
    """Writes types in one of two ways: as answers, which tolerate what is new, or as
    arguments, which are strict."""

    document: Document
    answers: bool
    prefix: str = ""  # of classes: "models." or "params."
    enums: str = ""  # of names of enums
    used: set[str] = field(default_factory=lambda: set())

    def union(self, parts: list[str]) -> str:
        parts = list(dict.fromkeys(parts))
        if len(parts) == 1:
            return parts[0]
        return f"Union[{', '.join(parts)}]" if self.answers else " | ".join(parts)

    def of(self, schema: Schema, place: str) -> str:
        """The type of a schema, null apart. place names what stands inline."""
        name = ref_name(schema)
        if name:
            return self._named(name)
        if "enum" in schema:
            literal = f"Literal[{', '.join(repr_text(v) for v in schema['enum'] if v is not None)}]"
            return self.union([literal, "str"]) if self.answers else literal
        if variants(schema):
            return self.union([self.prefix + place if is_object(v) else self.of(v, place) for v in variants(schema)])
        kind = base_type(schema)
        if kind == "array":
            return f"{'List' if self.answers else 'Sequence'}[{self.of(schema['items'], place)}]"
        if kind == "object":
            extra = schema.get("additionalProperties")
            value = self.of(extra, place) if isinstance(extra, dict) else "Any"
            return f"{'Dict' if self.answers else 'Mapping'}[str, {value}]"
        if kind == "string":
            if schema.get("format") == "date-time":
                return "datetime" if self.answers else "datetime | str"
            return "str"
        return SCALARS.get(kind, "Any")

    def _named(self, name: str) -> str:
        self.used.add(name)
        schema = self.document.schemas[name]
        if "enum" in schema:
            return self.union([self.enums + name, "str"]) if self.answers else self.enums + name
        return self.prefix + name


def repr_text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def references(schema: Schema) -> Iterator[str]:
    """The names that a schema refers to, directly."""
    if "$ref" in schema:
        yield ref_name(schema)
    for part in variants(schema):
        yield from references(part)
    for part in schema.get("properties", {}).values():
        yield from references(part)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from references(schema[key])


def closure(document: Document, roots: list[str]) -> list[str]:
    """The names that are reached from some roots, each after those that it needs."""
    order: list[str] = []
    open_names: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        if name in open_names:
            raise SystemExit(
                f"the schemas {open_names} refer to one another in a circle, which generate.py cannot write yet"
            )
        open_names.append(name)
        for other in sorted(set(references(document.schemas[name])) - {name}):
            visit(other)
        open_names.pop()
        order.append(name)

    for root in sorted(set(roots)):
        visit(root)
    return order
