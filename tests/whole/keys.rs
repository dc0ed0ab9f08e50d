//! How many keys it takes from one's own files to a first result. The keys are pressed in the
//! real program, so that the count is a fact. The files have the shape of well-known ones (wines
//! of two colours, patients of four hospitals, incomes by sex and age) and made-up numbers.

use std::fmt::Write as _;
use std::path::Path;

use crate::support::Screen;

const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";

/// Presses keys and counts them.
struct Typist {
    screen: Screen,
    keys: usize,
    since: std::time::Instant,
}

impl Typist {
    /// `halflight FILES`, once everything is read.
    fn open(directory: &Path, files: &[&str]) -> Self {
        let since = std::time::Instant::now();
        let screen = Screen::start(directory, files, 110, 34);
        let typist = Self { screen, keys: 0, since };
        typist.wait_ready(files.len());
        typist
    }

    fn wait_ready(&self, count: usize) {
        // What was guessed about a file is not confirmed yet.
        let ready = |text: &str| {
            text.matches(" ready").count() + text.matches(" guessed  ").count() == count
        };
        self.screen.wait_until(&format!("{count} datasets to be ready"), ready);
    }

    /// A key; an arrow is one, too.
    fn key(&mut self, key: &str) {
        self.screen.press(key);
        self.keys += 1;
    }

    fn text(&mut self, text: &str) {
        text.chars().for_each(|c| self.key(&c.to_string()));
    }

    /// A key, and what it shows.
    fn key_for(&mut self, key: &str, wanted: &str) {
        self.key(key);
        self.screen.wait_for(wanted);
    }

    /// From the datasets to the end of the first run; how many keys it took in all.
    fn run(mut self) -> usize {
        self.key_for("3", " Cost ");
        // At first the ledger has no budget to grant it from; the keys may come early.
        self.key_for("l", "A budget for");
        self.key_for(ENTER, "Launch '");
        self.key("y");
        self.screen.wait_long_for("guarantee: ε");
        assert!(self.screen.text().contains("finished"), "{}", self.screen.text());
        println!(
            "{:.1} s from the files to the end of the run",
            self.since.elapsed().as_secs_f64()
        );
        self.keys
    }
}

/// A number in [0, 1) for each row and column, the same every time.
fn chance(row: u64, column: u64) -> f64 {
    let mut bits = (row << 8 | column).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 32;
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn wines_of_one_table_split_by_colour() {
    let directory = tempfile::tempdir().unwrap();
    let mut csv = "colour,acidity,sugar,pH,alcohol,quality\n".to_owned();
    for row in 0..900 {
        let red = row % 3 == 0;
        let (acidity, alcohol) = (6.0 + 3.0 * chance(row, 0), 8.0 + 6.0 * chance(row, 1));
        let quality = 3.0 + 0.5 * (alcohol - 6.0) - 0.2 * (acidity - 6.0) + f64::from(red);
        let (sugar, ph) = (2.0 + 9.0 * chance(row, 2), 3.0 + 0.5 * chance(row, 3));
        let colour = if red { "red" } else { "white" };
        writeln!(csv, "{colour},{acidity:.2},{sugar:.2},{ph:.2},{alcohol:.2},{quality:.0}")
            .unwrap();
    }
    std::fs::write(directory.path().join("wine.csv"), csv).unwrap();
    let mut typist = Typist::open(directory.path(), &["wine.csv"]);
    // The quality goes from 3 to 9, so it is a number and not a class.
    typist.screen.wait_for("quality (regression)");
    typist.key_for("D", "y: look");
    typist.key_for("y", "Divide 'wine' by");
    typist.key_for(ENTER, "Which part is private?");
    typist.key(ENTER);
    typist.wait_ready(2);
    let keys = typist.run();
    println!("wine: {keys} keys");
    assert!(keys <= 36, "{keys} keys");
}

#[test]
fn patients_of_four_hospitals_in_four_files() {
    let directory = tempfile::tempdir().unwrap();
    let hospitals = ["cleveland", "hungarian", "switzerland", "va"];
    for (number, hospital) in (0..).zip(hospitals) {
        let mut csv = "hospital,age,sex,pain,pressure,vessels,num,disease\n".to_owned();
        for row in 0..240 {
            let row = 1000 * number + row;
            let (age, pressure) = (30.0 + 50.0 * chance(row, 0), 100.0 + 80.0 * chance(row, 1));
            let ill = 0.03 * (age - 55.0) + 0.01 * (pressure - 140.0) + chance(row, 2) > 0.4;
            let num = if ill { 1 + row % 4 } else { 0 };
            let vessels = if number == 0 { (row % 4).to_string() } else { String::new() };
            let (sex, pain, disease) = (row % 2, 1 + row % 4, u8::from(ill));
            writeln!(
                csv,
                "{hospital},{age:.0},{sex},{pain},{pressure:.0},{vessels},{num},{disease}"
            )
            .unwrap();
        }
        std::fs::write(directory.path().join(format!("{hospital}.csv")), csv).unwrap();
    }
    let files = hospitals.map(|hospital| format!("{hospital}.csv"));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut typist = Typist::open(directory.path(), &files);
    // The column 'num' is the answer under another name. What is said of one file holds for all.
    typist.key_for(ENTER, "Edit dataset");
    for _ in 0..8 {
        typist.key(DOWN);
    }
    typist.text(", num");
    typist.key_for(ENTER, "also changed");
    typist.wait_ready(4);
    let keys = typist.run();
    println!("heart: {keys} keys");
    assert!(keys <= 83, "{keys} keys");
}

#[test]
fn incomes_of_one_table_split_by_sex_and_age() {
    let directory = tempfile::tempdir().unwrap();
    let mut csv = "age,work,education,sex,hours,income\n".to_owned();
    for row in 0..1600 {
        let (age, hours) = (18.0 + 60.0 * chance(row, 0), 10.0 + 60.0 * chance(row, 1));
        let sex = ["Female", "Male"][(row % 2) as usize];
        let work = ["Private", "State", "?"][(3.0 * chance(row, 2)) as usize];
        let education = (1.0 + 16.0 * chance(row, 3)) as u8;
        let rich = f64::from(education) + 0.1 * hours + 0.05 * age > 16.0;
        let income = if rich { ">50K" } else { "<=50K" };
        writeln!(csv, "{age:.0},{work},{education},{sex},{hours:.0},{income}").unwrap();
    }
    std::fs::write(directory.path().join("adult.csv"), csv).unwrap();
    let mut typist = Typist::open(directory.path(), &["adult.csv"]);
    typist.key_for("D", "y: look");
    typist.key_for("y", "Divide 'adult' by");
    typist.text("sex");
    typist.key_for(ENTER, "Which part is private?");
    typist.key(ENTER);
    typist.wait_ready(2);
    typist.key_for("D", "y: look");
    typist.key_for("y", "Divide 'Female' by");
    typist.text("age");
    typist.key_for(ENTER, "at which age?");
    typist.text("40");
    typist.key_for(ENTER, "Which part is private?");
    typist.key(ENTER);
    typist.wait_ready(4);
    let keys = typist.run();
    println!("adult: {keys} keys");
    assert!(keys <= 159, "{keys} keys");
}

/// From files that need no word about them to the end of the first run.
fn files_that_need_no_word(name: &str, directory: &Path, files: &[&str], label: &str) {
    let typist = Typist::open(directory, files);
    typist.screen.wait_for(label);
    let keys = typist.run();
    println!("{name}: {keys} keys");
    assert!(keys <= 4, "{keys} keys");
}

/// A directory with these files.
fn place_with(files: Vec<(String, String)>) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

#[test]
fn hospitals_in_four_files() {
    let place = place_with(halflight::session::demo::tutorial_tables());
    let files = ["city.csv", "county.csv", "coast.csv", "children.csv"];
    files_that_need_no_word("hospitals", place.path(), &files, "days (regression)");
}

#[test]
fn bicycles_of_four_seasons_in_four_files() {
    let place = place_with(halflight::session::demo::practice_files());
    let files = ["winter.csv", "spring.csv", "summer.csv", "autumn.csv"];
    files_that_need_no_word("bicycles", place.path(), &files, "bikers (regression)");
}

#[test]
fn images_of_clothes_in_two_files() {
    let place = place_with(Vec::new());
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/fashion_mnist");
    for file in std::fs::read_dir(assets).unwrap().flatten() {
        std::fs::copy(file.path(), place.path().join(file.file_name())).unwrap();
    }
    let files = ["t1k-images-idx3-ubyte.gz", "train2k-images-idx3-ubyte.gz"];
    files_that_need_no_word("images", place.path(), &files, "label (classification");
}
