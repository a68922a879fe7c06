"""Whether a registry answers at all, asked before an engine is: engines wait for minutes, and try again."""

import http.client
import urllib.error
import urllib.request

_SECONDS = 4.0
_LOOPBACK = ("localhost", "127.", "[::1]")


def alive(host: str) -> str | None:
    """None when something speaks HTTP there, else why not. Any status is an answer: 401 only asks who we are."""
    local = host.startswith(_LOOPBACK)
    # What an engine is told to reach without TLS speaks plain http, as a registry on this machine does.
    schemes = ("http",) if local else ("https", "http")
    first: str | None = None
    for scheme in schemes:
        reason = _try(f"{scheme}://{host}/v2/", through_proxy=not local)
        if reason is None:
            return None
        first = first or reason
        # Silence would be silence on the other port too; a refusal or a broken handshake may be plain http.
        if "timed out" in reason:
            break
    return first


def _try(url: str, *, through_proxy: bool) -> str | None:
    opener = urllib.request.build_opener(*(() if through_proxy else (urllib.request.ProxyHandler({}),)))
    try:
        opener.open(url, timeout=_SECONDS).close()
    except urllib.error.HTTPError as answer:
        answer.close()
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", None) or error)
    return None
