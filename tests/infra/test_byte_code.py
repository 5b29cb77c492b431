"""What Lambda is given to run: byte code beside every source, the same bytes each time, and run in place of the source."""

from __future__ import annotations

import importlib.util
import marshal
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from infra.artifacts import Artifacts, compiled, stage, without_scripts
from infra.byte_code import compile_for, python_of

HERE = Path(sys.executable)
PACKAGE = "import enum\n\nNAMES = {'one', 'two'}\n\n\ndef of(name: str) -> bool:\n    return name in {'one', 'two', 'three'}\n"


def staged(target: Path) -> Artifacts:
    """What is deployed, with one small package in each layer, compiled by this Python."""
    artifacts = stage(target, bundle=False)
    for layer in (artifacts.layer, artifacts.cage_layer, artifacts.node_layer):
        package = layer / "python" / "small"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(PACKAGE)
    compiled(artifacts, HERE)
    return artifacts


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def byte_code(source: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(source)))


def test_every_deployed_source_has_its_byte_code_and_tracebacks_name_its_place_on_lambda(tmp_path: Path) -> None:
    for folder, mount in staged(tmp_path).mounted():
        sources = list(folder.rglob("*.py"))
        assert sources
        for source in sources:
            code = marshal.loads(byte_code(source).read_bytes()[16:])
            assert isinstance(code, types.CodeType)
            assert code.co_filename == f"{mount}/{source.relative_to(folder)}"


def test_the_same_sources_make_the_same_assets_wherever_they_are_staged(tmp_path: Path) -> None:
    staged(tmp_path / "one")
    staged(tmp_path / "another-and-longer")
    assert contents(tmp_path / "one") == contents(tmp_path / "another-and-longer")


def test_a_function_runs_its_byte_code_and_not_its_sources(tmp_path: Path) -> None:
    folder = staged(tmp_path).cage_code
    for source in folder.rglob("*.py"):
        source.write_text("raise RuntimeError('compiled anew')")
    script = f"import sys; sys.path.insert(0, {str(folder)!r}); import functions.run_tool.handler as h; print(h.__file__)"
    done = subprocess.run([HERE, "-I", "-B", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(folder / "functions/run_tool/handler.py"), done.stderr


def test_nothing_is_compiled_that_is_not_deployed(tmp_path: Path) -> None:
    stage(tmp_path, bundle=False)
    assert list(tmp_path.rglob("*.pyc")) == []


def test_a_source_that_does_not_compile_is_not_deployed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "torn.py").write_text("def of(:")
    with pytest.raises(subprocess.CalledProcessError):
        compile_for(tmp_path, "/var/task", python=HERE)
    assert "torn.py" in capfd.readouterr().out


def test_a_python_of_the_wanted_version_compiles() -> None:
    wanted = ".".join(map(str, sys.version_info[:2]))
    asked = [python_of(wanted), "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == wanted


def program(place: Path, script: str) -> Path:
    """An executable file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return place


def test_where_no_python_of_lambdas_version_is_to_be_had_nothing_is_deployed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = program(tmp_path / "python3.99", "echo 'pyenv: python3.99: command not found' >&2; exit 127")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(RuntimeError, match=r"(?s)Lambda runs Python 3\.99.*Put a python3\.99 that runs on the PATH") as refused:
        python_of("3.99")
    assert f"{shim}: pyenv: python3.99: command not found" in str(refused.value)


def test_a_python_of_pyenvs_compiles_though_its_shim_selects_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "shims" / "python3.98", "exit 127")
    installed = tmp_path / "versions" / "3.98.1" / "bin" / "python3.98"
    program(installed, f"echo CPython 3 98; echo {installed}")
    monkeypatch.setenv("PATH", str(tmp_path / "shims"), prepend=os.pathsep)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("UV_OFFLINE", "1")
    assert python_of("3.98") == installed


def test_a_program_of_the_right_name_and_another_version_does_not_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "python3.97", f'exec {HERE} "$@"')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(RuntimeError, match=r"python3\.97: it is CPython 3 1"):
        python_of("3.97")


def test_a_layer_does_not_tell_where_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "small").write_text("#!/made/here/bin/python\n")
    record = tmp_path / "small-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("bin/small,sha256=x,9\nsmall/__init__.py,sha256=y,8\n")
    without_scripts(tmp_path)
    assert contents(tmp_path) == {"small-1.0.dist-info/RECORD": b"small/__init__.py,sha256=y,8\n"}
