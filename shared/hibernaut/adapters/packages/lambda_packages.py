"""Asks the `build_packages` Lambda function for the packages of a tool. Knows Lambda's Invoke and its errors.

A build may take longer than a request may: then it goes on, and the repeated request gets its answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from hibernaut.adapters.function_client import FunctionClient, LambdaClient
from hibernaut.adapters.packages.target import target_name
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable, PackagesPending, PackagesRefused
from hibernaut.schemas.tools.package_set import PackageSet

PATIENCE = 22
"""Seconds for which a request waits for a build: less than the gateway waits for the request."""
AGAIN = 5.0
"""Seconds until the repetition of a request with an unfinished build."""
_CONNECT_TIMEOUT = 3


class LambdaPackages:
    """The `PackageInstaller` on AWS. Thread-safe."""

    def __init__(self, function_name: str, client: LambdaClient | None = None) -> None:
        self._function = FunctionClient(function_name, client, connect_timeout=_CONNECT_TIMEOUT, read_timeout=PATIENCE)

    @property
    def target(self) -> str:
        """All functions have the same Python and platform."""
        return target_name()

    def install(self, tenant: str, requirements: Sequence[str]) -> PackageSet:
        """As the port says."""
        from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

        payload = json.dumps({"tenant": tenant, "requirements": list(requirements)}).encode()
        try:
            response = self._function.invoke(payload, "RequestResponse")
            answer = json.loads(response["Payload"].read())
        except ReadTimeoutError:
            raise PackagesPending(
                "The packages of the tool are still being built. Send the same request again: it finds them when they are complete.",
                AGAIN,
            ) from None
        except (BotoCoreError, ClientError, ValueError) as error:
            raise PackageIndexUnavailable(
                f"The packages cannot be built now ({type(error).__name__}); try again.", AGAIN
            ) from error
        match answer:
            case {"packages": dict(packages)}:
                return PackageSet.model_validate(packages)
            case {"refused": str(reason)}:
                raise PackagesRefused(reason)
            case {"unavailable": str(reason), "retry_after": int() | float() as seconds}:
                raise PackageIndexUnavailable(reason, seconds)
            case _:
                # The function's own failure; its log says why.
                raise PackageIndexUnavailable("The packages could not be built; try again.", AGAIN)
