"""What answers show of a `callback_url`: whom the server calls, without what may be a password or a token.

The record keeps the whole address, which the callback is sent to.
"""

from urllib.parse import urlsplit

HIDDEN = "***"


def shown_callback(url: str | None) -> str | None:
    """The address without user, password and fragment, and with the names of its query alone: `https://host/x?token=***`. None
    for no address, and for a text that has no form of one.
    """
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return None
    if not parts.netloc:
        return None
    query = "&".join(_hidden(each) for each in parts.query.split("&")) if parts.query else ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment="").geturl()


def _hidden(parameter: str) -> str:
    """A parameter without its value. One without a name is a value."""
    name, is_named, _ = parameter.partition("=")
    return f"{name}={HIDDEN}" if is_named else HIDDEN
