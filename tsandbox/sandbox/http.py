"""Fetching over https: the host's proxies, a CA bundle if one is set, no way back from https to http."""

import ipaddress
import os
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from tsandbox import __version__, settings
from tsandbox.printable import one_line

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

TIMEOUT = 30.0
_LARGEST_TEXT = 8 << 20
# The server is busy or broken for the moment: the same request may succeed later.
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})


class FetchError(Exception):
    """Why an address gave nothing; `temporary` means that trying again makes sense."""

    def __init__(self, message: str, *, temporary: bool = False, status: int | None = None) -> None:
        super().__init__(message)
        self.temporary = temporary
        self.status = status


class Untrusted(FetchError):
    """The server's certificate is signed by nobody that this machine trusts."""


def refusal(url: str) -> str | None:
    """Why this address is never opened, or None. Plain http is for servers on this very machine: tests."""
    parts = urlsplit(url)
    if parts.username or parts.password:
        return "the address holds a user name or password"
    if parts.scheme == "https" and parts.hostname:
        return None
    if parts.scheme == "http" and is_loopback(url):
        return None
    return f"only https is fetched, not {parts.scheme or 'an address without a scheme'}"


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def get_text(url: str, headers: dict[str, str] | None = None) -> str:
    with open_url(url, headers or {}) as response:
        data: bytes = response.read(_LARGEST_TEXT + 1)
    if len(data) > _LARGEST_TEXT:
        raise FetchError(f"{url}: more than {_LARGEST_TEXT:,} bytes of text")
    return data.decode("utf-8", "replace")


def get_json(url: str, headers: dict[str, str] | None = None) -> Any:
    text = get_text(url, headers)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise FetchError(f"{url}: the answer is not JSON: {error}") from error


def open_url(url: str, headers: dict[str, str]) -> "HTTPResponse":
    """The open answer; a `FetchError` says what is wrong in words, and whether it may pass."""
    import http.client
    from urllib.error import HTTPError, URLError
    from urllib.request import Request

    if why := refusal(url):
        raise FetchError(f"{one_line(url)}: {why}")
    request = Request(url, headers={"User-Agent": f"tsandbox/{__version__}", **headers})  # noqa: S310 - checked above
    try:
        response: HTTPResponse = _opener().open(request, timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        temporary = error.code in _TEMPORARY
        raise FetchError(
            f"{one_line(url)}: {error.code} {error.reason}", temporary=temporary, status=error.code
        ) from None
    except (URLError, OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        message = f"{one_line(url)}: {reason or type(error).__name__}"
        # A certificate does not get better by asking again.
        raise (Untrusted(message) if _is_untrusted(reason) else FetchError(message, temporary=True)) from None
    except ValueError as error:
        raise FetchError(f"{one_line(url)}: {error}") from None
    return response


def _is_untrusted(reason: object) -> bool:
    import ssl

    return isinstance(reason, ssl.SSLCertVerificationError)


@cache
def _opener() -> "OpenerDirector":
    import ssl
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    class SameSafety(HTTPRedirectHandler):
        def redirect_request(
            self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
        ) -> Request | None:
            if why := refusal(newurl):
                raise FetchError(f"{one_line(req.full_url)} leads to {one_line(newurl)}: {why}")
            if req.type == "https" and not newurl.startswith("https:"):
                raise FetchError(f"{one_line(req.full_url)} leads from https to http")
            made = super().redirect_request(req, fp, code, msg, headers, newurl)
            if made is not None and urlsplit(newurl).hostname != urlsplit(req.full_url).hostname:
                # A token is for the host that it was given for, not for where that host points.
                made.remove_header("Authorization")
            return made

    bundle = settings.option("ca_bundle") or os.environ.get("SSL_CERT_FILE")
    context = ssl.create_default_context(cafile=bundle)
    return build_opener(HTTPSHandler(context=context), SameSafety())
