//! Work in equal tasks, for a Slurm cluster or as a list of commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use crate::error::{Error, Result};
use crate::files;

/// Who carries tasks out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// This machine, on all cores.
    Here,
    /// A Slurm cluster, as a job array.
    Slurm,
    /// Nobody yet: print one command for each task.
    List,
}

/// A job array for Slurm; its tasks are numbered from 0.
#[derive(Debug)]
pub struct JobArray<'a> {
    /// The folder for the script and the logs.
    pub folder: &'a Path,
    pub tasks: usize,
    /// Options for sbatch, such as `--time=1:00:00`.
    pub options: &'a [String],
    /// The command of a task; `$SLURM_ARRAY_TASK_ID` is its number.
    pub command: String,
}

impl JobArray<'_> {
    pub fn script(&self) -> String {
        let options: Vec<String> =
            self.options.iter().map(|option| format!("#SBATCH {option}\n")).collect();
        format!(
            "#!/bin/sh\n\
             #SBATCH --job-name=halflight\n\
             #SBATCH --array=0-{last}\n\
             #SBATCH --output={logs}/slurm-%a.out\n\
             {options}\
             exec {command}\n",
            last = self.tasks.saturating_sub(1),
            logs = self.folder.display(),
            options = options.concat(),
            command = self.command,
        )
    }

    /// Submits the array and returns the number of the job. `otherwise` names another remedy
    /// besides submitting the script by hand.
    pub fn submit(&self, otherwise: &str) -> Result<String> {
        let path = self.folder.join("array.sh");
        files::write_private(&path, self.script().as_bytes())?;
        let again = || format!("submit it with `sbatch {}`, or {otherwise}", quoted(&path));
        let submitted = Command::new("sbatch")
            .arg("--parsable")
            .arg(&path)
            .output()
            .map_err(|error| Error::io("run sbatch", &path, &error).cure(again()))?;
        if !submitted.status.success() {
            let said = String::from_utf8_lossy(&submitted.stderr).trim().to_owned();
            return Err(
                Error::failed(format!("sbatch refuses the job array: {said}")).cure(again())
            );
        }
        Ok(String::from_utf8_lossy(&submitted.stdout).trim().to_owned())
    }
}

/// Fails if no job can be submitted from this machine.
pub fn check_sbatch() -> Result<()> {
    match Command::new("sbatch").arg("-V").output() {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::usage("there is no sbatch on this machine")
            .cure("submit from a login node of the cluster, or see the job array with --dry-run")),
    }
}

pub fn program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|error| Error::failed(format!("cannot find this program: {error}")))
}

/// Quotes a path for a shell.
pub fn quoted(path: &Path) -> String {
    word(&path.display().to_string())
}

/// Quotes any word for a shell.
pub fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%=,".contains(&byte);
    let bare = !text.is_empty() && text.bytes().all(plain);
    if bare { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell_only_where_they_must_be() {
        assert_eq!(quoted(Path::new("/a/b-1.c")), "/a/b-1.c");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
        assert_eq!(word(""), "''");
    }
}
