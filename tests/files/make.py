"""Makes the Parquet files beside this script (pyarrow 26): the same 40 rows in
four compressions and both page versions. Rows are formulas, see tests/whole/formats.rs."""
import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent
rows = range(40)
day = datetime.date(2008, 4, 17)
moment = datetime.datetime(2008, 4, 17, 12, 30)
gap = lambda value, row: None if row % 7 == 3 else value
table = pa.table({
    "integer": pa.array([gap(row - 20, row) for row in rows], pa.int32()),
    "unsigned": pa.array([4_000_000_000 + row for row in rows], pa.uint32()),
    "double": pa.array([gap(row / 8, row) for row in rows], pa.float64()),
    "half": pa.array([row / 4 for row in rows], pa.float16()),
    "flag": pa.array([row % 2 == 0 for row in rows], pa.bool_()),
    "text": pa.array([gap(f"t{row % 5}", row) for row in rows]).dictionary_encode(),
    "day": pa.array([gap(day + datetime.timedelta(days=row), row) for row in rows], pa.date32()),
    "moment": pa.array([moment + datetime.timedelta(seconds=row) for row in rows], pa.timestamp("us")),
    "price": pa.array([decimal.Decimal(row * 25).scaleb(-2) for row in rows], pa.decimal128(9, 2)),
    "identifier": pa.array([2**60 + row for row in rows], pa.int64()),
    "embedding": pa.array([[row, row + 0.5, -row] for row in rows], pa.list_(pa.float32(), 3)),
    "list": pa.array([gap([row, 2 * row], row) for row in rows], pa.list_(pa.float64())),
    "ragged": pa.array([[1.0] * (row % 3) for row in rows], pa.list_(pa.float64())),
    "inside": pa.array([{"x": row} for row in rows], pa.struct([("x", pa.int16())])),
})
for compression, version in [("snappy", "1.0"), ("zstd", "2.0"), ("gzip", "2.0"), ("none", "1.0")]:
    pq.write_table(
        table, here / f"{compression}.parquet", compression=compression, row_group_size=16,
        data_page_version=version, data_page_size=64, store_schema=False, write_statistics=False,
    )
