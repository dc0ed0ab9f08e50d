//! The source that one file stands for, where nobody has written a definition: the arrays of an
//! archive that belong together, and images with the labels beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::data::csv::{Decimal, Dialect};
use crate::data::inspect::Inspection;
use crate::data::read::{self, ArrayRows, Reading, idx};
use crate::data::{Source, Table};
use crate::error::Result;

/// Words in the names of arrays that say what an array holds, and the usual column for it. The other
/// words of a name say of which part of the data it is: `train` in `train_images` and `y_train`.
const CONTENTS: [(&str, &str); 21] = [
    ("x", "x"),
    ("feature", "x"),
    ("features", "x"),
    ("embedding", "x"),
    ("embeddings", "x"),
    ("data", "x"),
    ("input", "x"),
    ("inputs", "x"),
    ("image", "pixel"),
    ("images", "pixel"),
    ("img", "pixel"),
    ("imgs", "pixel"),
    ("pixel", "pixel"),
    ("pixels", "pixel"),
    ("y", "label"),
    ("label", "label"),
    ("labels", "label"),
    ("target", "label"),
    ("targets", "label"),
    ("class", "label"),
    ("classes", "label"),
];

/// A file, and what goes with it.
#[derive(Debug, Clone)]
pub struct FoundFile {
    pub source: Source,
    path: PathBuf,
    /// The file with the labels of these images.
    labels: Option<PathBuf>,
    reading: Reading,
    /// Arrays of the file that are not in the source.
    pub left_out: Vec<String>,
}

impl FoundFile {
    /// Looks at the file's headers; `name` is its path as a session has it.
    pub fn of(path: &Path, name: &str) -> Result<Self> {
        let alone = |source, reading, left_out| Self {
            source,
            path: path.to_owned(),
            labels: None,
            reading,
            left_out,
        };
        let file = name.to_owned();
        let all = read::arrays(path)?;
        let together = belonging_together(&all);
        let left_out: Vec<String> =
            all.iter().map(|it| it.name.clone()).filter(|name| !together.contains(name)).collect();
        let named = with_usual_columns(&together);
        if !left_out.is_empty() || named != together {
            let reading = Reading::Arrays(named.clone());
            return Ok(alone(Source::Arrays { file, arrays: named }, reading, left_out));
        }
        let Some((images, labels)) = images_and_labels(path)? else {
            return Ok(alone(Source::File(file), Reading::Plain, Vec::new()));
        };
        let beside = |other: &Path| {
            let name = other.file_name().unwrap_or_default();
            Path::new(&file).with_file_name(name).display().to_string()
        };
        let files = [("pixel", &images), ("label", &labels)];
        let files = files.map(|(name, path)| (name.to_owned(), beside(path)));
        let source = Source::Together(files.into());
        Ok(Self { path: images, labels: Some(labels), ..alone(source, Reading::Plain, Vec::new()) })
    }

    /// The table, read file by file, and its source: with decimal commas, if its numbers have them.
    pub fn read(
        &self,
        mut read: impl FnMut(&Path, &Reading) -> Result<Table>,
    ) -> Result<(Table, Source)> {
        let source = self.source.clone();
        if let Some(labels) = &self.labels {
            let files = [("pixel", &self.path), ("label", labels)];
            let files: BTreeMap<String, PathBuf> =
                files.map(|(name, path)| (name.to_owned(), path.clone())).into();
            return Ok((read::read_together(&files, |path| read(path, &Reading::Plain))?, source));
        }
        let table = read(&self.path, &self.reading)?;
        if matches!(source, Source::File(_)) && Inspection::has_decimal_commas(&table) {
            let decimal = Decimal::Comma;
            let dialect = Dialect { decimal, ..Dialect::default() };
            if let Ok(table) = read(&self.path, &Reading::Delimited(dialect)) {
                return Ok((table, source.read_with(decimal, Vec::new())?));
            }
        }
        Ok((table, source))
    }

    /// What was left out, in words.
    pub fn note(&self) -> Option<String> {
        let Source::Arrays { file, arrays } = &self.source else { return None };
        (!self.left_out.is_empty()).then(|| {
            format!(
                "{file}: of its arrays {} belong together and are taken; {} are not",
                arrays.join(" and "),
                self.left_out.join(", ")
            )
        })
    }
}

/// The words of an array's name that say of which part of the data it is, and its usual column.
fn words_of(name: &str) -> (String, Option<&'static str>) {
    let name = name.to_lowercase();
    let usual = |word: &str| CONTENTS.iter().find(|(known, _)| *known == word).map(|it| it.1);
    let words = || name.split(|c: char| !c.is_alphanumeric());
    let part: Vec<&str> = words().filter(|word| usual(word).is_none()).collect();
    (part.join(" "), words().find_map(usual))
}

/// The arrays that belong together: of parts such as `train` and `test` those of the largest,
/// otherwise those with the same, largest number of records.
fn belonging_together(arrays: &[ArrayRows]) -> Vec<String> {
    let mut parts: BTreeMap<(String, usize), Vec<&ArrayRows>> = BTreeMap::new();
    for array in arrays {
        parts.entry((words_of(&array.name).0, array.rows)).or_default().push(array);
    }
    parts.retain(|_, arrays| arrays.len() > 1);
    let has_parts = parts.len() > 1;
    let of_part = parts.into_iter().max_by_key(|((_, rows), _)| *rows).map(|(_, arrays)| arrays);
    let most = arrays.iter().map(|array| array.rows).max().unwrap_or(0);
    let of_length = arrays.iter().filter(|array| array.rows == most).collect();
    let chosen = of_part.filter(|_| has_parts).unwrap_or(of_length);
    chosen.iter().map(|it| it.name.clone()).collect()
}

/// Features and labels under their usual names, so that datasets from different files fit
/// together; other arrays as they are.
fn with_usual_columns(arrays: &[String]) -> Vec<String> {
    let [one, other] = arrays else { return arrays.to_vec() };
    let columns = [one, other].map(|name| words_of(name).1);
    let is_pair = matches!(columns, [Some(a), Some(b)] if a != b && [a, b].contains(&"label"));
    if !is_pair {
        return arrays.to_vec();
    }
    let name = |(array, column): (&String, Option<&str>)| match column {
        Some(column) if column != array => format!("{column} = {array}"),
        _ => array.clone(),
    };
    arrays.iter().zip(columns).map(name).collect()
}

/// An IDX file of images and the one with their labels beside it, whichever of them `path` is.
fn images_and_labels(path: &Path) -> Result<Option<(PathBuf, PathBuf)>> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let Some(own) = idx_shape(path)? else { return Ok(None) };
    let is_labels = own.axes == 1;
    let (from, to) = if is_labels { ("labels", "images") } else { ("images", "labels") };
    if !name.contains(from) {
        return Ok(None);
    }
    let other = name.replace(from, to);
    let axes = if is_labels { vec![2, 3, 4] } else { vec![1] };
    let renamed =
        axes.iter().map(|axes| other.replace(&format!("idx{}", own.axes), &format!("idx{axes}")));
    for other in renamed {
        let other = path.with_file_name(other);
        if other != path
            && other.is_file()
            && let Some(shape) = idx_shape(&other)?
            && (shape.axes == 1) != is_labels
            && shape.rows == own.rows
        {
            let path = path.to_owned();
            return Ok(Some(if is_labels { (other, path) } else { (path, other) }));
        }
    }
    Ok(None)
}

fn idx_shape(path: &Path) -> Result<Option<idx::IdxShape>> {
    if !path.is_file() {
        return Ok(None);
    }
    Ok(idx::shape(&read::beginning(path, 8)?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(names: &[(&str, usize)]) -> String {
        let all =
            names.iter().map(|(name, rows)| ArrayRows { name: (*name).to_owned(), rows: *rows });
        with_usual_columns(&belonging_together(&all.collect::<Vec<_>>())).join(", ")
    }

    #[test]
    fn arrays_of_one_part_belong_together_and_a_table_of_arrays_stays_whole() {
        let parts =
            [("train_images", 9), ("train_labels", 9), ("test_images", 4), ("test_labels", 4)];
        assert_eq!(arrays(&parts), "pixel = train_images, label = train_labels");
        // Parts of the same length.
        let found = arrays(&[("x_a", 4), ("x_b", 4), ("y_a", 4), ("y_b", 4)]);
        assert_eq!(found, "x = x_b, label = y_b");
        // A column for each array.
        assert_eq!(arrays(&[("age", 4), ("income", 4), ("y", 4)]), "age, income, y");
        assert_eq!(arrays(&[("X", 4), ("y", 4)]), "x = X, label = y");
        // Something else beside the records.
        assert_eq!(arrays(&[("x", 4), ("label", 4), ("names", 2)]), "x, label");
        assert_eq!(arrays(&[]), "");
    }

    #[test]
    fn images_and_their_labels_find_each_other() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, shape: &[u8], values: usize| {
            let mut bytes = vec![0, 0, 8, shape.len() as u8];
            bytes.extend(shape.iter().flat_map(|&length| u32::from(length).to_be_bytes()));
            bytes.extend(std::iter::repeat_n(1, values));
            std::fs::write(place.path().join(name), bytes).unwrap();
            place.path().join(name)
        };
        let images = write("train-images-idx3-ubyte", &[3, 2, 2], 12);
        let labels = write("train-labels-idx1-ubyte", &[3], 3);
        let alone = write("test-images-idx3-ubyte", &[5, 2, 2], 20);
        // The labels of other images.
        write("test-labels-idx1-ubyte", &[4], 4);
        let files =
            [("label", "d/train-labels-idx1-ubyte"), ("pixel", "d/train-images-idx3-ubyte")];
        let files = files.map(|(name, file)| (name.to_owned(), file.to_owned()));
        for (path, name) in
            [(&images, "d/train-images-idx3-ubyte"), (&labels, "d/train-labels-idx1-ubyte")]
        {
            let found = FoundFile::of(path, name).unwrap();
            assert_eq!(found.source, Source::Together(files.clone().into()));
            let table = found.read(|path, reading| read::read(path, reading, &mut read::Unwatched));
            let (table, _) = table.unwrap();
            assert_eq!((table.rows(), table.names.join(" ")), (3, "label pixel".to_owned()));
        }
        let found = FoundFile::of(&alone, "a").unwrap();
        assert_eq!(found.source, Source::File("a".to_owned()));
    }
}
