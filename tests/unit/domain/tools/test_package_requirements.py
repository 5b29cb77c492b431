"""What `pip_requirements` may say: names and versions, and nothing that leads past the index."""

from __future__ import annotations

import pytest

from hibernaut.domain.tools.package_requirements import MOST_REQUIREMENTS, requirement_lines
from hibernaut.schemas.faults.package_faults import LONGEST_FAULT, PackagesRefused
from hibernaut.schemas.tools.tool import PipRequirement


def lines(*pairs: tuple[str, str | None]) -> tuple[str, ...]:
    return requirement_lines([PipRequirement(name=name, version=version) for name, version in pairs])


@pytest.mark.parametrize(
    ("name", "version", "line"),
    [
        ("requests", None, "requests"),
        ("Ruamel.YAML", "", "ruamel-yaml"),
        ("requests", "2.32.3", "requests==2.32.3"),
        ("requests", "v2.32", "requests==2.32"),
        ("requests", "==2.32.3", "requests==2.32.3"),
        ("requests", ">=2, <3", "requests<3,>=2"),
        ("requests>=2", None, "requests>=2"),
        ("torch", "2.5.1+cpu", "torch==2.5.1+cpu"),
        ("fastapi[Standard,all]", "0.115.0", "fastapi[all,standard]==0.115.0"),
    ],
)
def test_a_requirement_has_one_normal_form(name: str, version: str | None, line: str) -> None:
    assert lines((name, version)) == (line,)


def test_the_order_and_repetitions_do_not_matter() -> None:
    assert lines(("b", None), ("A", "1"), ("b", "")) == ("a==1", "b")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("-e .", None),
        ("--index-url=https://evil.example/simple", None),
        ("-r requirements.txt", None),
        ("./package", None),
        ("/etc/passwd", None),
        ("../package.whl", None),
        ("https://evil.example/a.whl", None),
        ("git+https://evil.example/a.git", None),
        ("requests @ https://evil.example/a.whl", None),
        ("requests @ file:///etc/passwd", None),
        ("requests; python_version > '3'", None),
        ("requests httpx", None),
        ("requests\n--index-url https://evil.example", None),
        ("$(id)", None),
        ("", " "),
        ("requests", "latest"),
        ("requests", "*"),
        ("requests", "@ https://evil.example/a.whl"),
        ("requests", "1.0 --index-url https://evil.example"),
        ("requests", "1.0\n-e ."),
        ("requests", "===1.0;evil"),
        ("requests", "; python_version > '3'"),
        ("requests>=2", "2.0"),
    ],
)
def test_what_is_no_name_with_a_version_is_refused(name: str, version: str | None) -> None:
    with pytest.raises(PackagesRefused, match="pip_requirements: "):
        requirement_lines([PipRequirement.model_construct(name=name, version=version)])


def test_there_is_a_limit_on_their_number_and_on_the_text_of_a_refusal() -> None:
    with pytest.raises(PackagesRefused, match="at most 50 packages"):
        lines(*((f"a{number}", None) for number in range(MOST_REQUIREMENTS + 1)))
    with pytest.raises(PackagesRefused) as refused:
        lines(("-" * 100_000, None))
    assert len(refused.value.reason) <= LONGEST_FAULT
