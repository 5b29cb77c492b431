"""What the snapshot of a function holds, if the deployment uses Lambda SnapStart (`-c snapStart=true`).

Lambda takes the snapshot after it has imported the handler, and restores it for each environment. The modules of the first event
are therefore imported before. Nothing is composed before: the holder of a lease, random numbers, connections and credentials must
differ between environments (AWS Lambda developer guide, "Handling uniqueness with Lambda SnapStart").
"""

from __future__ import annotations

from importlib import import_module

from hibernaut.wiring.settings import starts_from_snapshot


def import_for_snapshot(*modules: str) -> None:
    """Import the modules if Lambda is about to take a snapshot; they are in it. Otherwise each is imported at its first use."""
    if starts_from_snapshot():
        for module in modules:
            import_module(module)
