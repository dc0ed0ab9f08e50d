//! CSV and TSV files with a header.
