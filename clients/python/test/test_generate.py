"""I-3: what is generated is what the OpenAPI document says."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import lineshaft

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "generate.py"


def test_i3_the_calls_are_those_of_the_document() -> None:
    checked = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_i3_every_operation_has_its_method_in_both_clients() -> None:
    names = json.loads((ROOT / "api" / "clients.json").read_text(encoding="utf-8"))
    document = (ROOT / "api" / "openapi.yaml").read_text(encoding="utf-8")
    one = lineshaft.Lineshaft(base_url="http://h", api_key="ls_k")
    other = lineshaft.AsyncLineshaft(base_url="http://h", api_key="ls_k")
    offered = {i: n for i, n in names.items() if n != "-" and f"operationId: {i}\n" in document}
    assert len(offered) > 80
    for name in offered.values():
        noun, verb = name.split(".")
        method = getattr(getattr(one, noun), verb)
        assert inspect.getdoc(method), name
        assert list(inspect.signature(method).parameters) == list(
            inspect.signature(getattr(getattr(other, noun), verb)).parameters
        )


def test_i3_both_clients_offer_the_same() -> None:
    def offered(kind: type) -> set[str]:
        return {n.lstrip("a") if n == "aclose" else n for n in dir(kind) if not n.startswith("_")}

    assert offered(lineshaft.Lineshaft) == offered(lineshaft.AsyncLineshaft)
    assert offered(type(lineshaft.Lineshaft(base_url="http://h", api_key="k").runs)) == offered(
        type(lineshaft.AsyncLineshaft(base_url="http://h", api_key="k").runs)
    )


def test_i3_an_operation_without_a_name_is_refused(tmp_path: Path) -> None:
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        import openapi  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(SCRIPT.parent))
    names = tmp_path / "clients.json"
    names.write_text("{}")
    try:
        openapi.Document(ROOT / "api" / "openapi.yaml", names)
    except SystemExit as refused:
        assert "has no name in api/clients.json" in str(refused)
    else:
        raise AssertionError("an operation without a name was taken")
