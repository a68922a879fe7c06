"""`python -m tsandbox`."""

from tsandbox.cli import main

main()
