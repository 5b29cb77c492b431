"""What every test may rely on: no network but loopback, no provider's key, no AWS account, the same examples each time.

It knows nothing of the product, so that a test of any layer starts from the same clean ground.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import certifi
import pytest
from hypothesis import HealthCheck, settings

from tests.prepared import prepare
from tests.reached import PLUGIN, ReachedEndpoints, is_whole

# Suites and doubles are modules beside the tests; their asserts should explain themselves like a test's.
pytest.register_assert_rewrite(*(f"tests.{folder.name}" for folder in Path(__file__).parent.iterdir() if folder.is_dir()))

# Derandomized: a failure in CI is the same failure here. No deadline and no speed check: both would time the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes: what the folders of all tests together may need."""
MANY, TOO_MANY = 400, 800
"""Open descriptors: from which on garbage is collected after a file of tests, and which no file may leave behind. `select` takes
1,024.
"""
OPEN = Path("/proc/self/fd")
TEMPORARY = "PYTEST_DEBUG_TEMPROOT"
"""pytest's variable for the folder above all `tmp_path`s."""

FOREIGN_PREFIXES = ("ANTHROPIC_", "AWS_", "BEDROCK_", "HIBERNAUT_", "LETTA_", "OLLAMA_", "OPENAI_")
FOREIGN_SUFFIXES = ("_API_KEY", "_PROXY")
FAKE_AWS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-profile", action="store_true", help="run every test of the API on aws-offline too (tests/compat)")


def pytest_configure(config: pytest.Config) -> None:
    """Watch which endpoints are reached, and lay the tests' folders in memory where there is room: the databases of tests need
    not survive a power cut, and waiting for the disk takes a fifth of the suite's time. pytest deletes them: those of a run
    without failures at its end, and the others at the beginning of a later run.
    """
    config.pluginmanager.register(ReachedEndpoints(whole=is_whole(config)), PLUGIN)
    if TEMPORARY in os.environ or not MEMORY.is_dir():
        return
    about = os.statvfs(MEMORY)
    if about.f_bavail * about.f_frsize >= ROOM and not about.f_flag & os.ST_NOEXEC:
        folder = MEMORY / f"hibernaut-tests-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.environ[TEMPORARY] = str(folder)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Make what this worker has to make for all of them."""
    worker = getattr(session.config, "workerinput", None)
    if worker is not None:
        prepare(session.config, int(worker["workerid"].removeprefix("gw")), worker["workercount"])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share engines between files, where `make test` distributes them."""
    from tests.scheduling import EngineScheduling

    return EngineScheduling(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failure at once, so that a run that is cut off has said what failed. Workers report to the process that distributes
    the tests.
    """
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid} ({report.when}, {report.duration:.0f} s)", file=sys.__stderr__, flush=True)


def pytest_collectstart() -> None:
    """Collect no garbage while tests are collected, because next to nothing of it becomes garbage."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collect garbage seldom: what pytest has collected stays for the whole run, and a tenth of the time would be spent on
    looking at it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Collect garbage once. pytest does so twice at its end, each time through everything that the tests have left."""
    gc.collect()
    gc.freeze()


class OutsideTheMachine(OSError):
    """A test reached for an address that is not loopback."""

    def __init__(self, address: object) -> None:
        super().__init__(
            f"tests talk to loopback only, not to {address!r}: start a small server on 127.0.0.1 that speaks the wire format"
        )


def is_loopback(host: str | bytes | None) -> bool:
    if isinstance(host, bytes):
        host = host.decode()
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="module", autouse=True)
def few_descriptors() -> Iterator[None]:
    """No file of tests leaves so many connections and files open that those after it fail. What garbage holds is closed here: the
    collector, which runs seldom, does not see how many they are.
    """
    yield
    if not OPEN.is_dir() or len(list(OPEN.iterdir())) <= MANY:
        return
    gc.collect()
    left = sorted(str(Path(os.path.realpath(each))) for each in OPEN.iterdir())
    assert len(left) <= TOO_MANY, left


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6) and not is_loopback(address[0]):
            raise OutsideTheMachine(address)

    def checked_connect(sock: socket.socket, address: Any) -> None:
        check(sock, address)
        connect(sock, address)

    def checked_connect_ex(sock: socket.socket, address: Any) -> int:
        check(sock, address)
        return connect_ex(sock, address)

    def checked_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_loopback(host):
            raise OutsideTheMachine(host)
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", checked_connect)
        patch.setattr(socket.socket, "connect_ex", checked_connect_ex)
        patch.setattr(socket, "getaddrinfo", checked_getaddrinfo)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_authorities() -> Iterator[None]:
    """No list of certificate authorities is read: nobody beyond loopback is reached, and every HTTP client would read a list of
    its own, which takes 20 ms.
    """
    paths = ssl.get_default_verify_paths()
    known = {os.environ.get(paths.openssl_cafile_env), paths.openssl_cafile, certifi.where()} - {None}
    load = ssl.SSLContext.load_verify_locations

    def load_others(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cafile not in known:
            load(context, cafile, capath, cadata)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl.SSLContext, "load_verify_locations", load_others)
        yield


@pytest.fixture(scope="session", autouse=True)
def clean_environment() -> Iterator[None]:
    """No key, proxy or setting of the person who runs the tests reaches them, nor the processes they start."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.upper().startswith(FOREIGN_PREFIXES) or name.upper().endswith(FOREIGN_SUFFIXES):
                patch.delenv(name)
        for name, value in FAKE_AWS.items():
            patch.setenv(name, value)
        yield
