"""Workflows of CI systems that run the matrix."""
