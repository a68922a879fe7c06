"""`python -m tsandbox.runner`, and the entry of the self-contained program."""

import sys

from tsandbox.runner.main import main

sys.exit(main(sys.argv[1:]))
