"""What all tests share."""

import signal

import pytest
from hypothesis import settings

# A busy machine is no reason for a property to fail; no `.hypothesis` directory, so that runs do not differ.
settings.register_profile("tests", deadline=None, database=None)
settings.load_profile("tests")

# A shell starts what runs in the background deaf to Ctrl-C, `nohup` deaf to a hang-up, and children inherit that: tests
# that send these would wait for ever.
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
for _number, _handler in _USUAL.items():
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="Write tests/golden/ again; review it as a diff.")
