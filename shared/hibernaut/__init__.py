"""The package's name and version.

Knows nothing else and imports nothing, so that `import hibernaut` costs nothing in a cold start.
"""

from __future__ import annotations

__version__ = "0.1.0"
