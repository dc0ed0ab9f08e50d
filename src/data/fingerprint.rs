//! A name for a set of rows that depends on nothing but the rows: not on the
//! file's name, the order of its rows, or the order of its columns.
