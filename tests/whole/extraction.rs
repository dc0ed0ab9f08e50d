//! Feature extraction by real networks: `cargo test --features onnx --test whole extraction`.

use std::path::{Path, PathBuf};

use halflight::data::{DatasetDefinition, Table};
use halflight::session::{Workspace, dataset};

use crate::own_secret;

/// A workspace with links to the real datasets and networks, if they are here.
fn workspace() -> Option<(tempfile::TempDir, Workspace)> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let Some(data) =
        [beside, PathBuf::from("/work/shared/data")].into_iter().find(|it| it.is_dir())
    else {
        eprintln!("SKIPPED: ../shared/data is not there, so no real network was run");
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    for name in ["mnist", "cifar10_part", "feature_extractors", "features_cifar10_lite0"] {
        std::os::unix::fs::symlink(data.join(name), directory.path().join(name)).unwrap();
    }
    let workspace = Workspace::fresh(directory.path());
    std::fs::create_dir_all(workspace.folder()).unwrap();
    let secret = own_secret::folder().join("secret");
    std::fs::copy(secret, workspace.folder().join("secret")).unwrap();
    Some((directory, workspace))
}

fn load(definition: &str, workspace: &Workspace) -> Table {
    let options =
        ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    let definition: DatasetDefinition = options.from_str(definition).unwrap();
    let loaded = dataset::load(&definition, workspace).unwrap_or_else(|error| panic!("{error}"));
    loaded.public().unwrap().clone()
}

#[test]
fn a_digit_network_tells_digits_apart_and_its_features_are_kept() {
    let Some((directory, workspace)) = workspace() else { return };
    let digits = r#"(name: "digits", role: public, label: "label", task: classification,
        source: together({"x": "mnist/t10k-images-idx3-ubyte.gz", "label": "mnist/t10k-labels-idx1-ubyte.gz"}),
        sample: (rows: 500),
        extract: (network: "feature_extractors/ccexam_mnist.onnx", column: "x", divide: 255,
            image: (channels: 1, height: 28, width: 28), output: "logits"))"#;
    let table = load(digits, &workspace);
    let scores = table.column("x").unwrap();
    assert_eq!(scores.width(), 10);
    let labels = table.column("label").unwrap();
    let right = (0..table.rows()).filter(|&row| {
        let halflight::data::Column::Vectors(scores) = scores else { panic!("no vectors") };
        let best = (0..10).max_by(|&a, &b| scores.value(row, a).total_cmp(&scores.value(row, b)));
        labels.cell(row).to_string() == best.unwrap().to_string()
    });
    let share = right.count() as f64 / table.rows() as f64;
    assert!(share > 0.96, "{share}");
    let kept = std::fs::read_dir(directory.path().join(".halflight/features")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    // The second reading takes them from there: a mark in them shows.
    let mut bytes = std::fs::read(&kept[0]).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&77.0_f32.to_le_bytes());
    std::fs::write(&kept[0], bytes).unwrap();
    let again = load(digits, &workspace);
    let halflight::data::Column::Vectors(scores) = again.column("x").unwrap() else {
        panic!("no vectors")
    };
    assert_eq!(scores.value(499, 9), 77.0);
}
