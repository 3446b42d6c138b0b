"""Checks what was built: `archives.py FOLDER`. Wheel and source archive hold every file of the package."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"


def main(folder: Path) -> int:
    [wheel], [archive] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    want = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*") if path.suffix in (".py", ".typed")}
    with zipfile.ZipFile(wheel) as opened:
        inside = {name for name in opened.namelist() if ".dist-info/" not in name}
    with tarfile.open(archive) as opened:
        names = [name.split("/", 1)[1] for name in opened.getnames() if "/" in name]
    sources = {name[len("src/") :] for name in names if name.startswith("src/")}
    for title, found in (("wheel", inside), ("source archive", sources)):
        if found != want:
            print(f"the {title} differs from the sources: {sorted(found ^ want)}", file=sys.stderr)
            return 1
    if "lineshaft/py.typed" not in inside or "README.md" not in names:
        print("py.typed or README.md was left out", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
