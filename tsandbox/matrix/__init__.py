"""matrix room."""
