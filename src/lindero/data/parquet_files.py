"""Parquet through Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lindero.data.content import MOST_GROWTH, MOST_UNPACKED, Content
from lindero.data.source_table import SourceTable, plain_column, require_distinct

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(content: Content) -> SourceTable:
    """The table in a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(content.data))
        size = max(0, file.metadata.num_rows) * file.metadata.num_columns
        # Repeated values take next to no room, so a few bytes may announce any number of rows.
        if size > max(MOST_UNPACKED, MOST_GROWTH * len(content.data)):
            raise content.error(
                f"announces {size} values in {len(content.data)} bytes. Divide it into several "
                "files if that is right."
            )
        table = file.read()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0][:200].rstrip(".")
        raise content.error(
            f"is a damaged Parquet file ({reason}). Fetch or write it again."
        ) from None
    if table.num_rows == 0:
        raise content.error("has columns, but no rows.")
    names = [str(name) for name in table.column_names]
    require_distinct(names, content)
    columns = {
        name: plain_column(column, name, content)
        for name, column in zip(names, table.columns, strict=True)
    }
    plain = pa.table(columns)

    def text_of(name: str) -> pa.ChunkedArray:
        return plain[name].cast(pa.string())

    return SourceTable(plain, text_of)
