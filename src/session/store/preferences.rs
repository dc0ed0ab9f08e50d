//! The user's preferences and last position, in two separate files. The config is written by hand
//! and only read here. The state is written here and may be deleted at any time.
//!
//! | file | place |
//! |---|---|
//! | config | `$XDG_CONFIG_HOME/halflight/config.ron`, else `~/.config/halflight/config.ron` |
//! | themes | `themes/NAME.ron` beside it |
//! | what is remembered of ledgers | `ledgers/` beside it, for nobody else |
//! | state | `$XDG_STATE_HOME/halflight/state.ron`, else `~/.local/state/halflight/state.ron` |

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing as _, Error, Result};
use crate::files;

/// Written by hand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `dark`, `light`, `high-contrast`, or the name of a file under `themes/`.
    pub theme: Option<String>,
    /// Letters instead of symbols and braille.
    pub ascii: bool,
    /// Whether the program uses the mouse.
    pub mouse: Option<bool>,
    /// What happens to a run under way when its terminal is closed.
    pub when_closed: WhenClosed,
    /// An SSH or minisign key that signs shared certificates.
    pub sign_with: Option<PathBuf>,
}

/// What happens to a run under way when its terminal is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenClosed {
    /// The run ends here and is settled.
    #[default]
    Stop,
    /// The run continues in a process of its own, as if it had been left with `g`.
    GoOn,
}

/// Written by the program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramState {
    pub last_session: Option<PathBuf>,
    /// Recent sessions, the newest first, including the last one.
    pub recent: Vec<PathBuf>,
    /// Width of the first column of the Compare table.
    pub run_column: Option<u16>,
    /// The theme that was chosen in the interface.
    pub theme: Option<String>,
    /// Whether charts have a logarithmic axis.
    pub log_axis: bool,
    /// Whether the line with the next step is hidden.
    pub no_hints: bool,
    /// The shares of the first of two parts of a screen, from 0 to 1, whose border was moved.
    pub borders: BTreeMap<String, f64>,
}

/// The two directories of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDirectories {
    pub config: PathBuf,
    pub state: PathBuf,
}

/// Whether this program holds unit tests of one of our crates: cargo builds them in a folder called
/// `deps`, and gives them the name of the crate.
fn is_of_unit_tests() -> bool {
    cfg!(debug_assertions)
        && std::env::current_exe().is_ok_and(|program| {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("halflight")
                && program.parent().is_some_and(|folder| folder.ends_with("deps"))
        })
}

impl UserDirectories {
    /// From the values of `XDG_CONFIG_HOME`, `XDG_STATE_HOME` and `HOME`. By the
    /// specification a relative XDG path counts as unset.
    pub fn new(config: Option<&str>, state: Option<&str>, home: Option<&str>) -> Option<Self> {
        let base = |set: Option<&str>, below: &str| {
            let set = set.map(Path::new).filter(|path| path.is_absolute());
            let home =
                || home.filter(|home| !home.is_empty()).map(|home| Path::new(home).join(below));
            set.map(Path::to_path_buf).or_else(home).map(|base| base.join("halflight"))
        };
        Some(Self { config: base(config, ".config")?, state: base(state, ".local/state")? })
    }

    /// Unit tests have places of their own, so nobody's configuration is read or written.
    pub fn of_environment() -> Option<Self> {
        if is_of_unit_tests() {
            let home = std::env::temp_dir().join("halflight-unit-tests");
            return Self::new(None, None, home.to_str());
        }
        let set = |name: &str| std::env::var(name).ok();
        let (config, state) = (set("XDG_CONFIG_HOME"), set("XDG_STATE_HOME"));
        Self::new(config.as_deref(), state.as_deref(), set("HOME").as_deref())
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.ron")
    }

    /// What this user's programs remember about ledgers in any place.
    pub fn ledgers(&self) -> PathBuf {
        self.config.join("ledgers")
    }

    /// The config; the defaults if there is no file.
    pub fn read_config(&self) -> Result<Config> {
        let path = self.config_file();
        let Some(text) = text_of(&path)? else { return Ok(Config::default()) };
        ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
            .from_str(&text)
            .map_err(|error| {
                let (line, column) = (error.span.start.line, error.span.start.col);
                Error::usage(format!("not a configuration: {}", error.code))
                    .at(format!("{}:{line}:{column}", path.display()))
                    .cure("write for instance: (theme: \"light\", ascii: false)")
            })
    }

    /// The key that signs certificates, if the user named one.
    pub fn signing_key() -> Result<Option<PathBuf>> {
        let Some(places) = Self::of_environment() else { return Ok(None) };
        let key = places.read_config()?.sign_with;
        Ok(key.map(|key| places.config.join(key)))
    }

    /// The text of a theme of the user's own.
    pub fn read_theme(&self, name: &str) -> Result<String> {
        let path = self.config.join("themes").join(format!("{name}.ron"));
        text_of(&path)?.ok_or_else(|| {
            Error::usage(format!("there is no theme '{name}'"))
                .at(path.display().to_string())
                .cure("write that file, or take one of: dark, light, high-contrast")
        })
    }

    /// The state; if anything is wrong with it, it is ignored.
    pub fn read_state(&self) -> ProgramState {
        let text = fs::read_to_string(self.state.join("state.ron")).unwrap_or_default();
        ron::from_str(&text).unwrap_or_default()
    }

    pub fn write_state(&self, state: &ProgramState) -> Result<()> {
        files::create_private_folder(&self.state)
            .doing("create the state directory", &self.state)?;
        let text = ron::ser::to_string_pretty(state, ron::ser::PrettyConfig::new())
            .map_err(|error| Error::failed(format!("the state cannot be written: {error}")))?;
        files::write_private(&self.state.join("state.ron"), (text + "\n").as_bytes())
    }
}

fn text_of(path: &Path) -> Result<Option<String>> {
    fs::read_to_string(path).if_there().doing("read", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_follow_the_xdg_rules() {
        let places = UserDirectories::new(Some("/c"), Some("/s"), Some("/home/ada")).unwrap();
        assert_eq!(places.config, Path::new("/c/halflight"));
        assert_eq!(places.state, Path::new("/s/halflight"));
        for unset in [None, Some(""), Some("relative")] {
            let places = UserDirectories::new(unset, unset, Some("/home/ada")).unwrap();
            assert_eq!(places.config, Path::new("/home/ada/.config/halflight"));
            assert_eq!(places.state, Path::new("/home/ada/.local/state/halflight"));
        }
        assert_eq!(UserDirectories::new(None, Some("/s"), None), None);
    }

    #[test]
    fn a_config_error_names_its_place_and_a_broken_state_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let places = UserDirectories { config: path("config"), state: path("state") };
        assert_eq!(places.read_config().unwrap(), Config::default());
        fs::create_dir_all(&places.config).unwrap();
        fs::write(places.config_file(), "(theme: \"light\")").unwrap();
        assert_eq!(places.read_config().unwrap().theme.as_deref(), Some("light"));
        fs::write(places.config_file(), "(\n  colour: 3)").unwrap();
        let error = places.read_config().unwrap_err().to_string();
        assert!(error.contains("config.ron:2:"), "{error}");

        let borders = BTreeMap::from([("data.list".to_owned(), 0.3)]);
        let state = ProgramState { run_column: Some(30), borders, ..ProgramState::default() };
        places.write_state(&state).unwrap();
        assert_eq!(places.read_state(), state);
        fs::write(places.state.join("state.ron"), "(((").unwrap();
        assert_eq!(places.read_state(), ProgramState::default());
    }
}
