#!/usr/bin/env python3
"""Makes the models and the calls of the package from api/openapi.yaml, with the names
of api/clients.json.

    scripts/generate.py          writes what has changed
    scripts/generate.py --check  fails when something would change
"""

from __future__ import annotations

import sys
from pathlib import Path

import emit_resources
import emit_types
from openapi import Document

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(__file__).resolve().parents[1] / "src" / "lineshaft"
GENERATED = PACKAGE / "_generated"


def texts() -> dict[Path, str]:
    """Every generated file with its text."""
    document = Document(ROOT / "api" / "openapi.yaml", ROOT / "api" / "clients.json")
    files = {
        PACKAGE / "models.py": emit_types.models(document),
        PACKAGE / "params.py": emit_types.params(document),
        GENERATED / "resources.py": emit_resources.namespace(document),
    }
    for resource in emit_resources.resources(document):
        files[GENERATED / f"{resource}.py"] = emit_resources.module(document, resource)
    return files


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = texts()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    orphans = [path for path in GENERATED.glob("*.py") if path not in files and path.name != "__init__.py"]
    if not arguments:
        for path in stale:
            path.write_text(files[path], encoding="utf-8")
        for path in orphans:
            path.unlink()
        return 0
    for path in [*stale, *orphans]:
        print(
            f"{path.relative_to(ROOT)} is not what the OpenAPI document says: run clients/python/scripts/generate.py",
            file=sys.stderr,
        )
    return 1 if stale or orphans else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
