"""A package from a repository of one's own: fetched over https, and trusted by the key that the recipe names."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.conftest import Cli
from tsandbox.derive import define_image
from tsandbox.engine import Engine

from .conftest import WriteRecipe, run_in, spec_of
from .servers import TlsServer

CONTROL = """Package: tsandbox-made
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: made
"""


class Signer:
    """A key ring of its own, with one key."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self._environment = {**os.environ, "GNUPGHOME": str(home)}
        self.run("--batch", "--passphrase", "", "--quick-generate-key", "made@example.com", "rsa2048", "sign", "never")

    def run(self, *arguments: str, text: bytes = b"") -> bytes:
        done = subprocess.run(["gpg", *arguments], env=self._environment, input=text, capture_output=True, check=True)
        return done.stdout

    def key(self, *, armoured: bool) -> bytes:
        return self.run(*(["--armor"] if armoured else []), "--export", "made@example.com")

    def sign(self, text: bytes) -> bytes:
        return self.run("--batch", "--clearsign", text=text)

    def close(self) -> None:
        subprocess.run(["gpgconf", "--kill", "all"], env=self._environment, check=True)


@pytest.fixture
def signer(tmp_path: Path) -> Iterator[Signer]:
    # gpg talks to its agent through a socket in there, and a socket's path is short.
    made = Signer(Path(os.path.realpath(tmp_path)) / "g")
    yield made
    made.close()


@pytest.fixture
def package(tmp_path: Path) -> bytes:
    root = tmp_path / "package"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "usr/bin").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(CONTROL)
    (root / "usr/bin/made").write_text("#!/bin/sh\necho made by hand\n")
    (root / "usr/bin/made").chmod(0o755)
    deb = tmp_path / "made.deb"
    # The same bytes in every run: builds share the packages that they fetch, and tell a changed one.
    same = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, deb], check=True, capture_output=True, env=same)
    return deb.read_bytes()


def publish(server: TlsServer, package: bytes, signer: Signer, *, flat: bool) -> None:
    """An archive of one package, below /made."""
    listed = (
        f"{CONTROL}Filename: made.deb\nSize: {len(package)}\nSHA256: {hashlib.sha256(package).hexdigest()}\n\n".encode()
    )
    index = "Packages" if flat else "main/binary-all/Packages"
    place = "/made/." if flat else "/made/dists/stable"
    indexes = [index] if flat else [index, "main/binary-amd64/Packages", "main/binary-arm64/Packages"]
    sums = "".join(f" {hashlib.sha256(listed).hexdigest()} {len(listed)} {name}\n" for name in indexes)
    about = "" if flat else "Components: main\nArchitectures: all amd64 arm64\n"
    release = f"Suite: stable\nCodename: stable\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n{about}SHA256:\n{sums}".encode()
    server.files["/made/made.deb"] = server.files["/made/./made.deb"] = package
    server.files |= {f"{place}/{name}": listed for name in indexes}
    server.files[f"{place}/InRelease"] = signer.sign(release)


def declared(server: TlsServer, key: bytes, suite: str) -> str:
    server.files["/key"] = key
    components = "" if suite.endswith("/") else 'components = ["main"]\n'
    return f"""[[steps]]
action = "apt_install"
packages = ["tsandbox-made"]
[[steps]]
action = "apt_repo"
url = "{server.url}/made"
suite = "{suite}"
{components}key_url = "{server.url}/key"
key_sha256 = "{hashlib.sha256(key).hexdigest()}"
"""


def settings(server: TlsServer) -> dict[str, str]:
    return {"TSANDBOX_CA_BUNDLE": str(server.ca), "TSANDBOX_APT_MIRROR": f"{server.url}/debian", "http_proxy": ""}


def test_an_armoured_key_and_a_suite_in_a_minimal_image(
    engine: Engine, cli: Cli, recipe: WriteRecipe, tls_server: TlsServer, signer: Signer, package: bytes
) -> None:
    publish(tls_server, package, signer, flat=False)
    path = recipe(name="from-repository", extra=declared(tls_server, signer.key(armoured=True), "stable"))
    cli("build", path, env=settings(tls_server))
    with image_of(engine, path, "minimal") as image:
        assert run_in(engine, image, ["made"]) == "made by hand\n"
        assert run_in(engine, image, ["ls", "/etc/apt"]).code != 0


def test_a_binary_key_and_a_flat_archive_in_a_full_image(
    podman: Engine, podman_cli: Cli, recipe: WriteRecipe, tls_server: TlsServer, signer: Signer, package: bytes
) -> None:
    publish(tls_server, package, signer, flat=True)
    path = recipe(name="from-flat-archive", extra=declared(tls_server, signer.key(armoured=False), "./"))
    podman_cli("build", path, "--profile", "full", env=settings(tls_server))
    with image_of(podman, path, "full") as image:
        assert run_in(podman, image, ["made"]) == "made by hand\n"
        assert run_in(podman, image, ["ls", "/etc/apt/keyrings"]) == "tsandbox-1.gpg\n"


@contextmanager
def image_of(engine: Engine, path: Path, profile: str) -> Iterator[str]:
    """The name of what was built, which is gone afterwards."""
    tag = define_image(spec_of(path, profile)).tag
    name = f"localhost/{tag}" if engine.name == "podman" else tag
    try:
        yield name
    finally:
        engine.remove_image(name)


def test_a_repository_that_another_key_signed_is_refused(
    podman_cli: Cli, recipe: WriteRecipe, tls_server: TlsServer, signer: Signer, package: bytes, tmp_path: Path
) -> None:
    stranger = Signer(tmp_path / "s")
    try:
        publish(tls_server, package, stranger, flat=False)
    finally:
        stranger.close()
    path = recipe(name="from-a-stranger", extra=declared(tls_server, signer.key(armoured=True), "stable"))
    said = podman_cli("build", path, env=settings(tls_server), code=6).stderr
    assert "NO_PUBKEY" in said or "not signed" in said
