from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.matrix.recipes import Workshop
from tsandbox.engine import Engine


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "recipes")


@pytest.fixture
def engine_images(engine: Engine, workshop: Workshop) -> Iterator[Engine]:
    """The engine; images of the workshop's recipes are gone after the test."""
    yield engine
    workshop.clean(engine)
