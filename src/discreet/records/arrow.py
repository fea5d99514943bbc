"""Names for Arrow's types, which Arrow itself does not declare to type checkers."""

from typing import Any

import pyarrow.compute

__all__ = ["Array", "Batch", "Schema", "Table", "compute"]

Array = Any
"""An Arrow array, or a chunked one."""

Batch = Any
"""A record batch: columns of equal length."""

Table = Any
"""A table: columns of equal length, possibly in chunks."""

Schema = Any
"""Names, types and metadata of columns."""

compute: Any = pyarrow.compute
"""Arrow's functions, which are generated when it is imported."""
