"""Checks of the way to the outside: proxy, certificates, Debian's mirror, registry."""

import http.client
import ssl
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from tsandbox import settings
from tsandbox.build import archive, host
from tsandbox.build.doctor.check import Check
from tsandbox.derive import bases
from tsandbox.errors import UsageError

_SECONDS = 10.0


def proxy() -> Check:
    found = host.proxies()
    if not found:
        return Check(name="proxy", state="info", found="none is set")
    shown = ", ".join(f"{name}={without_password(value)}" for name, value in found.items())
    try:
        host.apt_conf(found, ca=False)
    except UsageError as error:
        return Check(name="proxy", state="failed", found=shown, meaning=error.message, fix=error.hint or "")
    meaning = "used by every step of a build, never kept in an image"
    if any(urlsplit(value).hostname in {"localhost", "127.0.0.1", "::1"} for value in found.values()):
        meaning += "; it is on this machine, so build steps share this machine's network"
    return Check(name="proxy", state="ok", found=shown, meaning=meaning)


def without_password(url: str) -> str:
    """A proxy's address may hold a password; what is shown must not."""
    parts = urlsplit(url)
    if not parts.username and not parts.password:
        return url
    return url.replace(parts.netloc, "…@" + parts.netloc.rpartition("@")[2])


def certificates() -> Check:
    try:
        bundle = host.ca_bundle()
    except UsageError as error:
        return Check(name="CA", state="failed", found=error.message, fix=error.hint or "")
    if bundle is None:
        return Check(name="CA", state="info", found="TSANDBOX_CA_BUNDLE is not set: Debian's own bundle is used")
    try:
        count = len(ssl.create_default_context(cafile=str(bundle)).get_ca_certs())
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        return Check(
            name="CA",
            state="failed",
            found=f"{bundle} holds no certificates that can be read: {reason}",
            meaning="packages cannot be fetched over https",
            fix="name a file of PEM certificates (-----BEGIN CERTIFICATE-----) in TSANDBOX_CA_BUNDLE",
        )
    return Check(
        name="CA", state="ok", found=f"{bundle}: {count} certificates, used by builds and never kept in an image"
    )


def mirror() -> Check:
    """Asked for the file that says what the suite holds, in the way that a build would ask."""
    try:
        found = archive.mirror()
    except UsageError as error:
        return Check(name="mirror", state="failed", found=error.message, fix=error.hint or "")
    if found is None:
        meaning = "this host is not Debian and TSANDBOX_APT_MIRROR is not set"
        return Check(name="mirror", state="info", found="Debian's default mirror is used", meaning=meaning)
    suite = bases.default_suite()
    origin = "TSANDBOX_APT_MIRROR" if settings.option("apt_mirror") else "this host's apt sources"
    where = f"{without_password(found.main)} (from {origin})"
    problem = _fetchable(f"{found.main}/dists/{suite}/InRelease")
    if problem is None:
        return Check(name="mirror", state="ok", found=f"{where} has {suite}")
    return Check(
        name="mirror",
        state="warning",
        found=f"{where} does not give {suite}: {problem}",
        meaning="bases and images that are not cached cannot be built now",
        fix="set TSANDBOX_APT_MIRROR to a mirror that this machine reaches, or http_proxy and https_proxy",
    )


def registry() -> Check | None:
    """Only where one is configured."""
    name = settings.option("registry")
    if not name:
        return None
    from tsandbox.build.registry_alive import alive

    problem = alive(name.partition("/")[0])
    if problem is None:
        return Check(name="registry", state="ok", found=f"{name} answers")
    return Check(
        name="registry",
        state="warning",
        found=f"{name} does not answer: {problem}",
        meaning="images are built here instead of being fetched",
        fix="check TSANDBOX_REGISTRY, or unset it",
    )


def _fetchable(url: str) -> str | None:
    """None when the file is there, else why not."""
    proxies = {name.removesuffix("_proxy"): value for name, value in host.proxies().items() if name != "no_proxy"}
    direct = urllib.request.proxy_bypass(urlsplit(url).hostname or "")
    # Only http and https get here: archive.py checks every mirror.
    question = urllib.request.Request(url, method="HEAD")  # noqa: S310
    try:
        bundle = host.ca_bundle()
        context = ssl.create_default_context(cafile=str(bundle) if bundle else None)
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), urllib.request.ProxyHandler({} if direct else proxies)
        )
        opener.open(question, timeout=_SECONDS).close()
    except urllib.error.HTTPError as answer:
        answer.close()
        return f"HTTP {answer.code}"
    except (OSError, http.client.HTTPException, ValueError, UsageError) as error:
        return str(getattr(error, "reason", None) or error)
    return None
