"""What all tests share."""

import pytest
from hypothesis import settings

# A busy machine is no reason for a property to fail; no `.hypothesis` directory, so that runs do not differ.
settings.register_profile("tests", deadline=None, database=None)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="Write tests/golden/ again; review it as a diff.")
