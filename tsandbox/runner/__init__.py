"""The runner: executes a plan's steps, inside a container or on the host, and records what happened.

It is shipped into containers, so it uses the standard library only and nothing else of tsandbox.
"""
