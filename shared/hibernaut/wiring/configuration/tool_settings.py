"""The settings of custom tools: the cage at home, and the packages that they may require.

HIBERNAUT_TOOL_NETWORK    on or off: whether custom tools have a network (default: on)
HIBERNAUT_PACKAGE_INDEX   address of a package index (PEP 503), with a user and a password if it wants them, or none (default: https://pypi.org/simple/)
HIBERNAUT_PACKAGE_SIZE    size limit of the packages of one tool in megabytes, unpacked (default: 250)

On AWS (set by the stack):

HIBERNAUT_BUILD_PACKAGES  name of the function that builds the packages of tools
HIBERNAUT_API_URL         address of the API, where the `client` of a tool reaches it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from hibernaut.schemas.immutable import immutable
from hibernaut.wiring.configuration.variables import BadSetting, address_in, megabytes_in

PYPI = "https://pypi.org/simple/"
INDEX, SIZE = "HIBERNAUT_PACKAGE_INDEX", "HIBERNAUT_PACKAGE_SIZE"
USUAL_SIZE = 250 * 1024 * 1024


@immutable
class PackageSettings:
    """`index`: its address (empty: no packages are installed); `size`: bytes of the packages of one tool."""

    index: str = field(default=PYPI, repr=False)
    size: int = USUAL_SIZE


USUAL_PACKAGES = PackageSettings()


@immutable
class DeployedToolSettings:
    """What tools need on AWS. `builder`: the name of the function that builds their packages; `api_url`: where their `client`
    sends its requests. Both may be empty.
    """

    packages: PackageSettings = USUAL_PACKAGES
    builder: str = ""
    api_url: str = ""


NO_DEPLOYED_TOOLS = DeployedToolSettings()


def deployed_tools_in(variables: Mapping[str, str]) -> DeployedToolSettings:
    """Raises: BadSetting."""
    address = address_in(variables, "HIBERNAUT_API_URL")
    return DeployedToolSettings(packages_in(variables), variables.get("HIBERNAUT_BUILD_PACKAGES", ""), address)


def tool_network_in(variables: Mapping[str, str]) -> bool:
    """Whether custom tools have a network. Raises: BadSetting."""
    match variables.get("HIBERNAUT_TOOL_NETWORK") or "on":
        case "on":
            return True
        case "off":
            return False
        case text:
            raise BadSetting(f"HIBERNAUT_TOOL_NETWORK must be on or off, not {text!r}")


def packages_in(variables: Mapping[str, str]) -> PackageSettings:
    """Where packages come from, and how much they may take. Raises: BadSetting, without the address, which may contain a
    password.
    """
    size = megabytes_in(variables, SIZE, USUAL_SIZE)
    text = variables.get(INDEX) or PYPI
    if text == "none":
        return PackageSettings("", size)
    if not text.startswith(("https://", "http://")):
        raise BadSetting(f"{INDEX} must be none, or an address that begins with https:// or http://")
    return PackageSettings(text, size)
