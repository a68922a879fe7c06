"""Recipes of packages, and containers of the images that are built from them."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import pytest

from tsandbox.build import BuiltImage, archive, ensure_image
from tsandbox.derive import ContainerSpec, derive
from tsandbox.engine import ContainerRequest, Engine
from tsandbox.plan import Catalog, load, select
from tsandbox.recipe import Recipe, linux

from . import servers
from .servers import Proxy, TlsServer

WriteRecipe = Callable[..., Path]
TEST_LABEL = "io.tsandbox.test"


@pytest.fixture
def recipe(tmp_path: Path) -> WriteRecipe:
    """Write a recipe that needs some Debian packages: `recipe("jq", name="my-jq")`."""

    def write(*packages: str, name: str = "declared", extra: str = "") -> Path:
        path = tmp_path / f"{name}.toml"
        listed = ", ".join(f'"{package}"' for package in packages)
        step = f'[[steps]]\naction = "apt_install"\npackages = [{listed}]\n' if packages else ""
        path.write_text(f'[metadata]\nname = "{name}"\ndescription = "for a test"\n{step}{extra}')
        return path

    return write


def spec_of(path: Path, profile: str | None = None) -> ContainerSpec:
    loaded = load(path)
    assert isinstance(loaded, Recipe)
    target = linux("debian")
    return derive(select(loaded, target, catalog=Catalog([])), target, profile=profile)  # type: ignore[arg-type]


def built(engine: Engine, path: Path, profile: str | None = None) -> BuiltImage:
    return ensure_image(engine, spec_of(path, profile))


class Ended(str):
    """What a container printed on both streams; its exit code is beside it."""

    __slots__ = ("code",)
    code: int


def run_in(engine: Engine, image: str, argv: Sequence[str], user: str | None = None) -> Ended:
    """Run a command offline, as the sandbox does: all capabilities dropped, no new privileges."""
    name = f"tsandbox-test-{secrets.token_hex(6)}"
    container = engine.create(
        ContainerRequest(image=image, argv=argv, name=name, labels={TEST_LABEL: "build"}, user=user, init=False)
    )
    try:
        said = b"".join(chunk for _, chunk in engine.attach(container, timeout=120)).decode()
        ended = Ended(said)
        state = engine.state(container)
        assert state is not None
        assert state.exit_code is not None
        ended.code = state.exit_code
        return ended
    finally:
        engine.remove(container)


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[TlsServer]:
    """An archive behind TLS: this machine's mirror under another name."""
    mirror = archive.mirror()
    if mirror is None:
        pytest.skip("this machine has no Debian mirror of its own")
    yield from _entered(servers.tls_server(tmp_path, mirror.main.removesuffix("/debian")))


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    yield from _entered(servers.proxy())


T = TypeVar("T")


def _entered(manager: AbstractContextManager[T]) -> Iterator[T]:
    with manager as value:
        yield value


@pytest.fixture
def unsigned_archive(tmp_path: Path) -> Iterator[str]:
    """An archive on this machine that lists a package, and that nobody has signed."""
    with servers.plain_server() as server:
        for suite in ("bookworm", "bookworm-updates"):
            server.files[f"/debian/dists/{suite}/Release"] = f"Suite: {suite}\nComponents: main\n".encode()
        yield f"{server.url}/debian"
