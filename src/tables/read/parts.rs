//! One table in several files, as Spark, Dask and exports by day write it: a folder of parts, or a
//! pattern such as `claims/*.parquet`.
//!
//! In a folder every file counts, except those whose names start with `.` or `_`: writers mark the
//! end of their work so (`_SUCCESS`). A Parquet file without rows is left out, because Spark writes
//! one for each task that had nothing to write. The order is that of the names. Parts in folders
//! such as `year=2024` would lack that column, so folders inside the folder are refused.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::input::{Input, Unwatched};
use super::parquet::lacks_rows;
use crate::error::{Doing, Error, Result};
use crate::names::{is_pattern, matches};

/// Whether a path stands for all files of a folder or of a pattern.
pub fn are_several(path: &Path) -> bool {
    path.is_dir() || (!path.exists() && is_pattern(&path.to_string_lossy()))
}

/// The files that a path stands for, or `None` for the path of a single file.
pub fn of(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    if !are_several(path) {
        return Ok(None);
    }
    let found = if path.is_dir() { in_folder(path)? } else { matching(path)? };
    let mut parts = Vec::new();
    for part in found {
        if !is_empty(&part)? {
            parts.push(part);
        }
    }
    if parts.is_empty() {
        return Err(Error::failed("it has no file with records")
            .at(path.display().to_string())
            .cure("name a table, a folder of parts, or a pattern such as 'claims/*.parquet'"));
    }
    Ok(Some(parts))
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let parts = visible(folder)?;
    if let Some(inner) = parts.iter().find(|part| part.is_dir()) {
        return Err(Error::failed("this folder holds another folder, whose name may be a column")
            .at(inner.display().to_string())
            .cure(
                "name the files by a pattern, such as 'claims/*/*.parquet', if they hold every \
                 column themselves",
            ));
    }
    Ok(parts)
}

/// Files and folders in a folder, sorted by name, without hidden ones and marks.
fn visible(folder: &Path) -> Result<Vec<PathBuf>> {
    const LIST: &str = "list the folder";
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).doing(LIST, folder)? {
        let entry = entry.doing(LIST, folder)?;
        if !entry.file_name().to_string_lossy().starts_with(['.', '_']) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Files whose paths match, part of the path by part of the path.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let name = component.as_os_str().to_string_lossy();
        if !matches!(component, Component::Normal(_)) || !is_pattern(&name) {
            for path in &mut found {
                path.push(component);
            }
            continue;
        }
        let mut next = Vec::new();
        for folder in found.iter().filter(|path| path.as_os_str().is_empty() || path.is_dir()) {
            let here = folder.as_os_str().is_empty();
            let inside = visible(if here { Path::new(".") } else { folder })?;
            let names = inside.iter().filter_map(|path| path.file_name());
            let fitting = names.filter(|found| matches(&name, &found.to_string_lossy()));
            next.extend(fitting.map(|name| folder.join(name)));
        }
        found = next;
    }
    found.retain(|path| path.is_file());
    Ok(found)
}

fn is_empty(part: &Path) -> Result<bool> {
    let is_parquet = part.extension().is_some_and(|it| it == "parquet" || it == "pq");
    if !is_parquet {
        return Ok(false);
    }
    let mut nobody = Unwatched;
    let input = Input::open(part, &mut nobody)?;
    // Whatever is wrong with the file, its reader says it better.
    Ok(lacks_rows(&input))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::data_type::DoubleType;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "a,b\n1,2\n").unwrap();
        }
        folder
    }

    fn names(folder: &tempfile::TempDir, path: &str) -> Vec<String> {
        let parts = of(&folder.path().join(path)).unwrap().unwrap();
        let name = |part: PathBuf| part.strip_prefix(folder.path()).unwrap().display().to_string();
        parts.into_iter().map(name).collect()
    }

    #[test]
    fn a_folder_is_its_files_without_marks() {
        let folder = folder(&["d/part-1.csv", "d/part-0.csv", "d/_SUCCESS", "d/.part-0.csv.crc"]);
        assert_eq!(names(&folder, "d"), ["d/part-0.csv", "d/part-1.csv"]);
        assert!(of(&folder.path().join("d/part-0.csv")).unwrap().is_none());
    }

    #[test]
    fn a_pattern_matches_in_every_part_of_the_path() {
        let folder = folder(&["2023/a.csv", "2024/a.csv", "2024/b.txt", "old/a.csv"]);
        assert_eq!(names(&folder, "20*/*.csv"), ["2023/a.csv", "2024/a.csv"]);
        assert_eq!(names(&folder, "2024/?.*"), ["2024/a.csv", "2024/b.txt"]);
    }

    #[test]
    fn a_file_with_a_star_in_its_name_is_itself() {
        let folder = folder(&["a*.csv", "ab.csv"]);
        assert!(of(&folder.path().join("a*.csv")).unwrap().is_none());
    }

    #[test]
    fn a_folder_that_may_stand_for_a_column_is_refused() {
        let folder = folder(&["d/year=2024/part-0.csv"]);
        let error = of(&folder.path().join("d")).unwrap_err();
        assert!(error.place().unwrap().ends_with("year=2024"), "{error}");
        assert!(error.to_string().contains("may be a column"), "{error}");
    }

    #[test]
    fn a_parquet_part_without_rows_is_left_out() {
        let folder = folder(&[]);
        let schema = parse_message_type("message t { REQUIRED DOUBLE x; }").unwrap();
        let schema = Arc::new(schema);
        for (name, cells) in [("d/0.parquet", None), ("d/1.parquet", Some([1.0, 2.0]))] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::File::create(path).unwrap();
            let schema = Arc::clone(&schema);
            let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
            if let Some(cells) = cells {
                let mut group = writer.next_row_group().unwrap();
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<DoubleType>().write_batch(&cells, None, None).unwrap();
                column.close().unwrap();
                group.close().unwrap();
            }
            writer.close().unwrap();
        }
        assert_eq!(names(&folder, "d"), ["d/1.parquet"]);
    }

    #[test]
    fn without_files_there_is_no_table() {
        let folder = folder(&["d/_SUCCESS"]);
        for path in ["d", "*.csv", "none/*.csv"] {
            let error = of(&folder.path().join(path)).unwrap_err();
            assert!(error.to_string().contains("no file with records"), "{error}");
        }
    }
}
