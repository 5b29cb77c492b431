"""Makes the transpiler that runs tools in TypeScript one file, from the packages of the lock beside it:
`python tools/sucrase/bundle.py`.

The file is part of the product, because nothing is fetched where a tool runs. The same lock gives the same bytes; `sums.json` has
their hashes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "shared" / "hibernaut" / "adapters" / "tool_runner" / "node"
FILES = ("sucrase.cjs", "sucrase.LICENSE")
ENTRY = 'module.exports.transform = require("sucrase").transform;'


def main() -> None:
    """Write the bundle, the licences of what is in it, and their hashes."""
    versions = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True)
        (folder / "entry.js").write_text(ENTRY, encoding="utf-8")
        header = f"/* sucrase {versions['sucrase']} (MIT), bundled by esbuild {versions['esbuild']}; licences: sucrase.LICENSE */"
        flags = ["--bundle", "--platform=node", "--format=cjs", "--target=node20", "--minify", "--metafile=meta.json"]
        command = ["node_modules/.bin/esbuild", "entry.js", *flags, f"--banner:js={header}", f"--outfile={FILES[0]}"]
        subprocess.run(command, cwd=folder, check=True)
        shutil.copy(folder / FILES[0], TARGET / FILES[0])
        inputs = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["inputs"]
        (TARGET / FILES[1]).write_text(licences(folder, inputs), encoding="utf-8")
    sums = {name: hashlib.sha256((TARGET / name).read_bytes()).hexdigest() for name in FILES}
    (HERE / "sums.json").write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")


def licences(folder: Path, inputs: dict[str, object]) -> str:
    """The licences of the packages whose files are in the bundle."""
    packages = set()
    for name in inputs:
        parts = Path(name).parts
        if parts[0] == "node_modules":
            packages.add("/".join(parts[1 : 3 if parts[1].startswith("@") else 2]))
    texts = []
    for package in sorted(packages):
        (licence,) = (folder / "node_modules" / package).glob("LICENSE*")
        texts.append(f"{package}\n\n{licence.read_text(encoding='utf-8').strip()}\n")
    return "\n----\n\n".join(texts)


if __name__ == "__main__":
    main()
