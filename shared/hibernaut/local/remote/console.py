"""The console of a server in a browser of this machine."""

from __future__ import annotations

import json
import webbrowser

from hibernaut.local.remote.agent_server import AgentServer

PLACE = "/console/"


def open_console(server: AgentServer, *, as_json: bool, quiet: bool) -> int:
    """Print the address of the console, and open it unless `quiet` or there is no browser with a window. Raises: CannotServe if
    no server answers.
    """
    server.get("/v1/health/")
    address = f"{server.url.rstrip('/')}{PLACE}"
    opened = not quiet and has_window() and webbrowser.open(address)
    print(json.dumps({"url": address, "opened": opened}) if as_json else address)
    return 0


def has_window() -> bool:
    """Whether the browser of this machine has a window of its own. One that would take over the terminal does not count."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    return isinstance(browser, webbrowser.BackgroundBrowser) or not isinstance(browser, webbrowser.GenericBrowser)
