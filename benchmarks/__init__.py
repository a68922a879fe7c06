"""Measurements: `python -m benchmarks [name…]` (or `make bench`) runs the modules of this package by name.

A module has `run()`, which yields `Measure`s. What is compared is measured in one run, interleaved, so that a busy
machine slows both sides alike; absolute times are printed for people and never judged.
"""
