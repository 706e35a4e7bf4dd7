"""Posts one document to an address: run as a script by ``WebHook``, so that it can be killed.

Looking a name up and reading an answer cannot be given a time-out together in one process; a
process can. Reads ``{"url": ..., "document": ...}`` from stdin: an argument could be read by
every user of the host. Prints how it failed, without the address.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

_SOCKET = 10.0  # seconds; the parent cuts the whole


def main() -> int:
    """Post, say why it failed, return 0 if it did not."""
    given = json.load(sys.stdin)
    said = post(given["url"], given["document"].encode())
    sys.stdout.write(said)
    return 1 if said else 0


def post(url: str, document: bytes) -> str:
    """Return how posting failed, in words without secrets; nothing if the answer was 2xx.

    No redirect is followed, since it may lead anywhere; the answer's body is not read.
    """
    try:
        with _opener().open(_request(url, document), timeout=_SOCKET):
            return ""
    except urllib.error.HTTPError as error:
        with error:
            return _answered(error.code)
    except urllib.error.URLError as error:
        return f"the address could not be reached ({_named(error.reason)})"
    except Exception as error:
        return f"the address could not be posted to ({_named(error)})"


def _request(url: str, document: bytes) -> urllib.request.Request:
    parts = urlsplit(url)
    headers = {"Content-Type": "application/json", "User-Agent": "keptstep"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return urllib.request.Request(bare, data=document, headers=headers)  # noqa: S310 - checked


def _opener() -> urllib.request.OpenerDirector:
    """Return what opens http and https, by a proxy if the environment names one, and no more."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _answered(code: int) -> str:
    elsewhere = ": a redirect, and none is followed" if 300 <= code < 400 else ""  # noqa: PLR2004
    return f"the address answered with {code}{elsewhere}"


def _named(error: Any) -> str:
    """Return the system's word for an error, or its class: its own text may quote the address."""
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number and number > 0 else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
