//! For tests that call the library: a secret of the tests' own.

#![allow(dead_code)] // not every test needs all of it
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of a workspace that has a secret, so that nobody's configuration is read or
/// written.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let name = format!("own-secret-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        let secret = folder.join("secret");
        fs::write(&secret, "5e".repeat(32)).unwrap();
        #[cfg(unix)]
        fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        folder
    })
}
