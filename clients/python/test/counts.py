"""Adds up what the tests did: `counts.py FAILED VERSION...`. FAILED are the checks that are no tests."""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

ENVIRONMENTS = Path(__file__).resolve().parents[1] / ".venv"


def main(failed: int, versions: list[str]) -> int:
    passed = skipped = 0
    for version in versions:
        report = ENVIRONMENTS / f"{version}.xml"
        if not report.exists():
            print(f"python {version} left no report", file=sys.stderr)
            failed += 1
            continue
        for suite in xml.parse(report).getroot().iter("testsuite"):
            bad = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            idle = int(suite.get("skipped", 0))
            passed += int(suite.get("tests", 0)) - bad - idle
            failed += bad
            skipped += idle
    line = f"{passed} passed, {failed} failed, {skipped} skipped"
    print(line)
    if os.environ.get("LINESHAFT_TEST_SUMMARY"):
        with Path(os.environ["LINESHAFT_TEST_SUMMARY"]).open("a", encoding="utf-8") as summary:
            summary.write("python: " + line + "\n")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
