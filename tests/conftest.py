"""What all tests share."""

import signal

import pytest
from hypothesis import settings

# A busy machine is no reason for a property to fail; no `.hypothesis` directory, so that runs do not differ.
settings.register_profile("tests", deadline=None, database=None)
settings.load_profile("tests")

# A shell starts what runs in the background deaf to Ctrl-C, and a child inherits that: tests that send it would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="Write tests/golden/ again; review it as a diff.")
