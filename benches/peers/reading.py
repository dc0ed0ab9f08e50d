"""Peers of benches/reading.rs: pandas' C reader and pyarrow.

Pinned: numpy 2.4.6, pandas 3.1.1, pyarrow 26.0.1.
    reading.py make FOLDER ROWS COLUMNS     writes t.csv and t.parquet (snappy)
    reading.py csv FILE | parquet FILE      prints the seconds that reading takes
"""
import sys
import time


def make(folder, rows, columns):
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    numbers = np.random.default_rng(1).normal(size=(columns, rows)).round(6)
    table = pa.table({f"f{at}": column for at, column in enumerate(numbers)})
    pyarrow.csv.write_csv(table, f"{folder}/t.csv")
    pyarrow.parquet.write_table(table, f"{folder}/t.parquet")


def read(kind, path):
    if kind == "csv":
        import pandas as reader
        start = time.perf_counter()
        reader.read_csv(path, engine="c")
    else:
        import pyarrow.parquet as reader
        start = time.perf_counter()
        reader.read_table(path)
    print(time.perf_counter() - start)


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    read(sys.argv[1], sys.argv[2])
