//! Extracted features, kept beside the ledger so that a network runs only once over the same
//! records.
//!
//! They are NPY files of 32-bit numbers. Their names are keyed hashes of the network, the settings
//! and the records in their order, under the user's secret: without it, anyone could test guesses
//! about records against a name. Features of private records are as private as the records, so only
//! their owner can read the files and no export touches them. They may be deleted at any time.

use std::path::{Path, PathBuf};

use super::workspace::Workspace;
use crate::data::extraction::Extraction;
use crate::data::read::{self, Reading, ReadingProgress, Unwatched};
use crate::data::{Column, Table, Vectors};
use crate::error::{Doing as _, Result};
use crate::files::{self, step};
use crate::privacy::Secret;

/// `table` with its features extracted.
pub(super) fn extracted(
    extraction: &Extraction,
    table: Table,
    workspace: &Workspace,
    secret: &Secret,
    progress: &mut dyn ReadingProgress,
) -> Result<Table> {
    let path = workspace.resolve(&extraction.network);
    let network = std::fs::read(&path).doing("read the network", &path)?;
    let key = extraction.key(&network, &table)?;
    let file = file_of(&workspace.folder().join("features"), &key, secret);
    let features = if let Some(features) = kept(&file, table.rows()) {
        features
    } else {
        let features = extraction.extract(&path, &network, &table, progress)?;
        // Without the file the network just runs again next time.
        let _ = keep(&file, &features);
        features
    };
    extraction.replace(table, features)
}

/// The file of features with this key. A file that an earlier version named by the key itself is
/// renamed.
fn file_of(folder: &Path, key: &str, secret: &Secret) -> PathBuf {
    let name = secret.fingerprint(key);
    let digits = name.rsplit(':').next().unwrap_or_default();
    let file = folder.join(format!("{digits}.npy"));
    let plain = folder.join(format!("{key}.npy"));
    if plain.exists() && step::rename(&plain, &file).is_err() {
        // They can be made again, and the name reveals too much to stay.
        let _ = step::remove(&plain);
    }
    file
}

/// A missing or damaged file counts as none.
fn kept(file: &Path, rows: usize) -> Option<Vectors> {
    file.is_file().then_some(())?;
    let mut table = read::read(file, &Reading::Plain, &mut Unwatched).ok()?;
    match table.columns.pop()? {
        Column::Vectors(vectors) if vectors.len() == rows => Some(vectors),
        _ => None,
    }
}

fn keep(file: &Path, features: &Vectors) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    files::create_private_folder(folder).doing("create the folder of features", folder)?;
    protect(folder)?;
    files::write_private(file, &npy(features))
}

#[cfg(unix)]
fn protect(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
        .doing("protect the folder of features", folder)
}

#[cfg(not(unix))]
fn protect(_: &Path) -> Result<()> {
    Ok(())
}

/// NPY, version 1.0.
fn npy(features: &Vectors) -> Vec<u8> {
    let (rows, width) = (features.len(), features.width());
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}");
    // Ten bytes come before it and a line end after it; together a multiple of 64.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    header.push_str(&" ".repeat(padded - 1 - header.len()));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    features.each(|_, vector| {
        for x in vector {
            bytes.extend((*x as f32).to_le_bytes());
        }
    });
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Values;

    #[test]
    fn kept_features_come_back_and_damaged_ones_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("features/key.npy");
        let features = Vectors::new(3, Values::F32((0..300).map(|x| x as f32).collect())).unwrap();
        assert!(kept(&file, 100).is_none());
        keep(&file, &features).unwrap();
        let back = kept(&file, 100).unwrap();
        assert_eq!((back.len(), back.width(), back.value(99, 2)), (100, 3, 299.0));
        assert!(kept(&file, 99).is_none(), "features of other records");
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert!(kept(&file, 100).is_none());
    }

    #[test]
    fn names_are_made_under_the_secret_and_old_ones_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let secret = Secret::new([1; 32], directory.path());
        std::fs::write(directory.path().join("abc.npy"), "x").unwrap();
        let file = file_of(directory.path(), "abc", &secret);
        assert_eq!(std::fs::read(&file).unwrap(), b"x");
        assert!(!directory.path().join("abc.npy").exists());
        let other = Secret::new([2; 32], directory.path());
        assert_ne!(file_of(directory.path(), "abc", &other), file);
    }

    #[test]
    fn a_missing_network_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::fresh(directory.path());
        let vectors = Vectors::new(1, Values::F32(vec![1.0])).unwrap();
        let table =
            Table::of_rows("x.npy", vec!["x".to_owned()], vec![Column::Vectors(vectors)]).unwrap();
        let secret = Secret::new([1; 32], directory.path());
        let extraction: Extraction = ron::from_str("(network: \"nowhere.onnx\")").unwrap();
        let error =
            extracted(&extraction, table, &workspace, &secret, &mut Unwatched).err().unwrap();
        assert!(error.to_string().contains("nowhere.onnx"), "{error}");
    }
}
