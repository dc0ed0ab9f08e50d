//! Tables as files hold them: columns in memory or on the disk, readers, writers, filters.
//!
//! | module | holds |
//! |---|---|
//! | [`align`] | compares two tables by column name |
//! | `chunks` | the cells of a column in chunks, in memory or on the disk |
//! | [`column`] | typed columns and their cells |
//! | [`elements`] | single numbers of vectors as columns: `x[3]` |
//! | [`filter`] | row filters such as `season != 1` |
//! | [`fingerprint`] | a name for a set of rows that depends on the rows alone |
//! | [`lines`] | the line of the file that each row starts on |
//! | [`numbers`] | the numbers of a column, in memory or on the disk |
//! | [`read`] | the readers: the kind of a file, and its columns |
//! | [`secret_order`] | random choices among private rows that nobody outside can know |
//! | [`table`] | rows of named columns, as in their file, with their fingerprint |
//! | [`vectors`] | a column of embeddings or images, in one piece |
//! | [`mod@write`] | columns as CSV and Parquet files |
//!
//! # An example
//!
//! A table is read from its bytes, some of its rows are chosen, and a column of these is written:
//!
//! ```
//! use halflight_tables::filter::Filter;
//! use halflight_tables::read::{self, Reading};
//! use halflight_tables::write::{self, WriteFormat};
//!
//! # fn main() -> Result<(), halflight_base::Error> {
//! let text = b"day,season,rides\n1,winter,98\n2,spring,131\n3,winter,87\n";
//! let table = read::read_bytes("rides.csv", text, &Reading::Plain)?;
//! let winter = Filter::parse("season == 'winter' and rides < 90")?.apply(&table)?;
//! assert_eq!((winter.rows(), winter.place(0)), (1, "rides.csv:4".to_owned()));
//!
//! let rides = winter.column("rides")?;
//! assert_eq!(rides.cell(0).to_string(), "87");
//! let file = write::bytes(WriteFormat::Csv, &[("rides".to_owned(), rides.clone())])?;
//! assert_eq!(file, b"rides\n87\n");
//! # Ok(())
//! # }
//! ```

use halflight_base::{Error, error, files, memory};
use halflight_numeric as numeric;

pub mod align;
mod chunks;
pub mod column;
pub mod elements;
pub mod filter;
pub mod fingerprint;
pub mod lines;
pub mod names;
pub mod numbers;
pub mod person_rows;
pub mod read;
pub mod secret_order;
pub mod table;
pub mod texts;
pub mod vectors;
pub mod write;

pub use align::Compatibility;
pub use column::Column;
pub use fingerprint::Fingerprint;
pub use numbers::Numbers;
pub use person_rows::Persons;
pub use read::csv;
pub use secret_order::{RowChoice, SecretOrder};
pub use table::{Sample, Table};
pub use texts::Texts;
pub use vectors::{Values, Vectors};
