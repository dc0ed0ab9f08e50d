//! A shared certificate's signature, made with a key that the user names in the configuration
//! (`sign_with: "PATH"`): an SSH key by `ssh-keygen`, a minisign key by `minisign`. Both run without
//! asking questions, so a key with a passphrase needs its agent.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::certificate;
use crate::error::{Doing as _, Error, Result};
use crate::store::preferences::UserDirectories;

/// The file of the signature, beside the certificate.
pub const FILE: &str = "certificate.json.sig";
/// The purpose of an SSH signature: it is valid for nothing else.
pub const NAMESPACE: &str = "halflight-certificate";

/// The key that the user named, if any.
fn key() -> Result<Option<PathBuf>> {
    let key = UserDirectories::signing_key()?;
    key.map(|key| beginning(&key).map(|_| key)).transpose()
}

fn beginning(key: &Path) -> Result<Vec<u8>> {
    std::fs::read(key).map_err(|error| {
        Error::io("read the key that signs certificates", key, &error)
            .cure("correct `sign_with` in the configuration, or take it out")
    })
}

/// Signs the certificate in `directory`, if the user named a key; false if not.
pub fn sign(directory: &Path) -> Result<bool> {
    let Some(key) = key()? else { return Ok(false) };
    let key = key.as_path();
    let (document, signature) = (directory.join(certificate::FILE), directory.join(FILE));
    let mut command = if beginning(key)?.starts_with(b"untrusted comment:") {
        let mut minisign = Command::new("minisign");
        minisign.arg("-S").arg("-s").arg(key).arg("-m").arg(&document).arg("-x").arg(&signature);
        minisign
    } else {
        let mut ssh = Command::new("ssh-keygen");
        ssh.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).arg(&document);
        ssh
    };
    let program = PathBuf::from(command.get_program());
    let done = command
        .stdin(Stdio::null())
        .env("SSH_ASKPASS_REQUIRE", "never")
        .output()
        .doing("start the program that signs", &program)?;
    if done.status.success() && signature.is_file() {
        return Ok(true);
    }
    let why = String::from_utf8_lossy(&done.stderr);
    let why = why.lines().next_back().unwrap_or("it does not say why");
    Err(Error::failed(format!("{} did not sign the certificate: {why}", program.display()))
        .at(key.display().to_string())
        .cure("use a key without a passphrase, or one that an agent holds"))
}
