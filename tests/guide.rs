//! What the guide says of the code is true of it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

#[test]
fn every_path_in_the_guide_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(root.join("assets/guide/code.md")).unwrap();
    let quoted = guide.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = quoted.filter(|word| word.starts_with("src/")).collect();
    assert!(paths.len() > 30, "{paths:?}");
    for path in paths {
        assert!(root.join(path).exists(), "{path}");
    }
}
