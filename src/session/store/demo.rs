//! The embedded demo: two sessions on data inside the program. Their workspace is new every time,
//! because its data are public anyway.

use std::path::PathBuf;

use super::file::Session;
use super::workspace::Workspace;
use crate::data::hospitals::HOSPITALS;
use crate::error::{Error, Result};

const GERMAN_CREDIT: &[u8] =
    include_bytes!("../../../assets/german_credit/german_credit_codes.csv");
const BIKESHARE: &[u8] = include_bytes!("../../../assets/bikeshare/bikeshare.csv");

/// Demo sessions by name.
pub const SESSIONS: [(&str, &str); 2] = [
    ("bikeshare", include_str!("../../../assets/bikeshare/session.ron")),
    ("synthetic", include_str!("../../../assets/synthetic/session.ron")),
];

/// A dataset inside the program.
pub fn builtin(name: &str) -> Result<&'static [u8]> {
    match name {
        "bikeshare" => Ok(BIKESHARE),
        "german_credit" => Ok(GERMAN_CREDIT),
        _ => Err(Error::usage(format!("there is no built-in dataset '{name}'"))
            .cure("the built-in datasets are: bikeshare, german_credit")),
    }
}

/// The demo session called `name`.
pub fn session(name: &str) -> Result<Session> {
    let found = SESSIONS.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| {
        let known: Vec<_> = SESSIONS.iter().map(|(known, _)| *known).collect();
        Error::usage(format!("there is no demo '{name}'"))
            .cure(format!("the demos are: {}", known.join(", ")))
    })?;
    Session::parse(text, &format!("demo {name}"))
}

/// The prefix of the folders of demos.
pub const FOLDER: &str = "halflight-demo-";

/// A new, empty workspace under the system's directory for temporary files.
pub fn workspace() -> Result<Workspace> {
    let unique = format!("{FOLDER}{}-{}", crate::clock::now().as_millisecond(), std::process::id());
    let directory: PathBuf = std::env::temp_dir().join(unique);
    Ok(Workspace::fresh(&directory))
}

/// The tables of the practice files, with the season that each holds. Winter is the private one.
pub const PRACTICE: [(&str, &str); 4] =
    [("winter", "1"), ("spring", "2"), ("summer", "3"), ("autumn", "4")];

/// Only every so many hours are used, so that the examples take seconds.
const EVERY: usize = 4;
/// The columns of the practice files. The others reveal the answer or the season.
const COLUMNS: [&str; 8] =
    ["hr", "holiday", "workingday", "weathersit", "temp", "hum", "windspeed", "bikers"];

/// The files of the guide's examples, by name: a table for each season of the bikeshare data, and a
/// session on them.
pub fn practice_files() -> Vec<(String, String)> {
    let session = include_str!("../../../assets/bikeshare/practice.ron").to_owned();
    let tables = PRACTICE.iter().map(|(name, season)| (format!("{name}.csv"), table(season)));
    tables.chain([("session.ron".to_owned(), session)]).collect()
}

const TUTORIAL: &str = include_str!("../../../assets/synthetic/hospitals.ron");

/// The files of the tutorial, by name: a table for each hospital, and a session on them.
pub fn tutorial_files() -> Vec<(String, String)> {
    tutorial_tables().into_iter().chain([("session.ron".to_owned(), TUTORIAL.to_owned())]).collect()
}

/// The tables alone.
pub fn tutorial_tables() -> Vec<(String, String)> {
    HOSPITALS.iter().map(|it| (format!("{}.csv", it.name), it.table())).collect()
}

/// The public hospital that the user of the tutorial adds.
pub const ADDED: &str = "county";

/// The session that the tutorial begins with: one hospital, the plan and the budget are left to the
/// user.
pub fn tutorial_session() -> Result<Session> {
    let mut session = Session::parse(TUTORIAL, "the tutorial's session")?;
    session.datasets.retain(|dataset| dataset.name != ADDED);
    session.plans.clear();
    session.budgets.clear();
    Ok(session)
}

/// Some hours of a season. The file is ours and has neither quotes nor gaps.
fn table(season: &str) -> String {
    let text = String::from_utf8_lossy(BIKESHARE);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let places: Vec<usize> =
        COLUMNS.iter().filter_map(|name| header.iter().position(|it| it == name)).collect();
    let cells =
        |row: Vec<&str>| places.iter().map(|place| row[*place]).collect::<Vec<_>>().join(",");
    let rows = lines.filter(|row| row.first() == Some(&season)).step_by(EVERY);
    std::iter::once(header.clone()).chain(rows).map(|row| cells(row) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn practice_files_have_the_rows_and_columns_that_the_guide_says() {
        let files = practice_files();
        let rows = |name: &str| {
            let (_, text) = files.iter().find(|(file, _)| file == name).unwrap();
            assert!(
                text.starts_with("hr,holiday,workingday,weathersit,temp,hum,windspeed,bikers\n")
            );
            text.lines().count() - 1
        };
        assert_eq!(
            ["winter.csv", "spring.csv", "summer.csv", "autumn.csv"].map(rows),
            [517, 551, 560, 534]
        );
    }

    #[test]
    fn the_tutorial_has_the_files_of_its_session_and_leaves_one_to_the_user() {
        let files: Vec<String> = tutorial_files().into_iter().map(|(name, _)| name).collect();
        assert_eq!(files, ["city.csv", "county.csv", "coast.csv", "children.csv", "session.ron"]);
        let whole = Session::parse(TUTORIAL, "tutorial").unwrap();
        for dataset in &whole.datasets {
            assert!(files.contains(&format!("{}.csv", dataset.name)), "{}", dataset.name);
        }
        let begun = tutorial_session().unwrap();
        assert_eq!((whole.datasets.len(), begun.datasets.len(), begun.plans.len()), (4, 3, 0));
    }

    #[test]
    fn every_demo_session_is_valid_and_survives_saving() {
        for (name, _) in SESSIONS {
            let demo = session(name).unwrap();
            let again = Session::parse(&demo.to_ron().unwrap(), name).unwrap();
            assert_eq!(demo, again);
        }
    }
}
