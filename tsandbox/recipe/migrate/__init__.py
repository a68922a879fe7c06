"""From free-text install guides to structured steps."""

from tsandbox.recipe.migrate.rewrite import Kept, Migration, migrate

__all__ = ["Kept", "Migration", "migrate"]
