//! The meanings of the words in screens, reports and commands: one text for each, used everywhere.

use crate::methods;
use crate::privacy::Adjacency;

/// A word with two or three sentences: its meaning, which direction is better, what changes it.
#[derive(Debug)]
pub struct Word {
    pub name: &'static str,
    /// Other words for it.
    also: &'static [&'static str],
    pub text: &'static str,
}

const fn word(name: &'static str, also: &'static [&'static str], text: &'static str) -> Word {
    Word { name, also, text }
}

/// In alphabetical order.
pub const WORDS: &[Word] = &[
    word(
        "account",
        &["private dataset in the ledger"],
        "A private dataset as the ledger knows it, whatever its name or file. Everything spent on its records adds up here. Copies and parts of the same rows share one account.",
    ),
    word(
        "adaptation",
        &["adapted"],
        "A model that learned from public data is fitted to private data that are a little different. It needs far fewer private records, and so less noise, than a model of private data alone.",
    ),
    word(
        "asked ε",
        &["granted ε"],
        "The most that a run may spend. The whole of it is reserved before the run starts and counts until the run has ended; what was not used is then given back.",
    ),
    word(
        "AUC",
        &["public AUC", "private AUC", "AUC ◆"],
        "The chance that of two records, one of each class, the model gives the one of the second class the larger score. Equal scores count one half. 1 is a perfect order, 0.5 is chance. It needs two classes with records of both, and it does not depend on where the answer changes from one class to the other.",
    ),
    word(
        "balanced accuracy",
        &[
            "balanced %",
            "balanced % ◆",
            "public balanced accuracy in %",
            "private balanced accuracy in %",
        ],
        "The share of right answers in each class, averaged over the classes that occur. More is better. A rare class counts as much as a common one, so always giving the most common of two answers has 50 %.",
    ),
    word(
        "budget",
        &["budgets", "spent before", "spent after", "runs that fit"],
        "The ε and δ that all runs on the same private records may spend together, now and later. The ledger refuses a run that would go beyond it. A larger budget is a weaker promise to the people in the data.",
    ),
    word(
        "categories",
        &["category"],
        "Columns that name things rather than measure them, such as a ward or a weather. Each value becomes a feature of its own. Values that occur only in private data count as unknown.",
    ),
    word(
        "certificate",
        &[],
        "A file that states what a run guarantees, for those who get its model: ε, δ, what was drawn, and what is not covered. It contains no private record and no exact number. `halflight verify` checks it by computing it a second time.",
    ),
    word(
        "choice",
        &["candidate", "candidates", "choose best"],
        "Private records decide among several plans, and public data alone, for one ε. The trained models are compared on held-out records, with noise, and only the winner's model is kept. If there are only a few plans, all are trained; if there are many, some of them, drawn at random.",
    ),
    word(
        "claim",
        &["claims", "claimed", "another trainer"],
        "What the file of another trainer says that it drew from the same private records. It counts against the budget as if it were true, but is listed apart, because nobody here saw it. `halflight ledger claim` charges it; `--mended`, `--instead` and `withdraw` change it.",
    ),
    word(
        "class separation",
        &["ξ", "1 − ξ", "eigengap"],
        "How much of what tells public classes apart lies in the first k public directions. ξ is the part that they miss, so less is better: few directions need little noise, and miss more. The margin says how far records are on their own side, the eigengap how clearly direction k stands out from the next.",
    ),
    word(
        "classes",
        &["class"],
        "The answers that a classification chooses from. Without a list, those of the public data are used. They must not depend on private labels, so a list of your own has to come from outside the data.",
    ),
    word(
        "clipping",
        &["bounds", "clipped", "clipped gradients", "share of clipped gradients"],
        "A record that exceeds its bound is scaled down to it, so that no single person can move the result by more. Too much clipping loses detail; a wide bound needs more noise. Bounds come from public data, or you declare them.",
    ),
    word(
        "columns",
        &["features used", "column selection"],
        "Which columns of the file become features: all but the label, only some, or all except some. Leave out columns that are the answer under another name, and those that number the rows.",
    ),
    word(
        "correction",
        &[
            "corrections",
            "size of each correction",
            "level",
            "scale",
            "other model",
            "tree effects",
            "regions",
        ],
        "How far the private records moved the public model in one respect: its level, its scale, single columns, or regions. A part that the noise would drown is left out and shows as zero.",
    ),
    word(
        "dataset",
        &["datasets"],
        "A table with a role, a label and perhaps a filter. One file can give several datasets: private rows of one hospital, public rows of the others.",
    ),
    word(
        "δ",
        &["delta", "δ of this run"],
        "The chance that the promise of ε does not hold. It should be far below 1/n for n private records: at 1/n, publishing one record picked at random would be allowed. Smaller is safer.",
    ),
    word(
        "discrepancy",
        &["unlabelled discrepancy"],
        "How much, at most, the errors of a linear model can differ between two datasets because their features vary differently. Less is better: a model carries over with less loss. It does not look at labels.",
    ),
    word(
        "distance",
        &["gradient subspace distance"],
        "The angle between the directions in which a small model would change on a public dataset and on the private one: 0 is the same, 1 is nothing in common. Less is better.",
    ),
    word(
        "draws",
        &["draw"],
        "How many noisy numbers or vectors a run has taken out of the private records, and how many it was granted. Every draw is written to the ledger before it happens.",
    ),
    word(
        "effective sample",
        &[],
        "How many public records really count, once they are weighted to look like the private ones. A small number means that only a few public records resemble the private ones, and the model rests on those.",
    ),
    word(
        "energy",
        &["captured energy"],
        "How much of what a small model would learn from the private data can also be learned from this public dataset. 1 is all of it; more is better. Compare it with the marks for noise and for more private data.",
    ),
    word(
        "ε",
        &["epsilon", "ε spent", "ε of this run", "privacy loss"],
        "How much the record of one person can change what is released. An attacker's odds about a person change by at most the factor e^ε: 1.65 at ε 0.5, 2.7 at ε 1, 55 at ε 4. Smaller is safer, and needs more noise.",
    ),
    word(
        "error elsewhere",
        &["elsewhere", "on the others"],
        "The error of a model of this public dataset on the other public datasets. It costs no privacy. A dataset with a small one resembles most of the others.",
    ),
    word(
        "exact number",
        &["◆", "exact", "curator-only"],
        "A number about private data without noise. It is meant only for you, who may see the data. It is marked ◆ and left out of everything that is passed on. A choice that you make by looking at it is not covered by ε.",
    ),
    word(
        "explained energy",
        &["public energy that k directions keep"],
        "How much of the variation of the public data is kept by their k strongest directions. More directions keep more, and spread the noise over more numbers.",
    ),
    word(
        "extra settings",
        &["settings"],
        "Settings that seldom need a change. Each has a default; changed ones are marked with * and always shown.",
    ),
    word(
        "features",
        &["feature scaling", "features of a plan"],
        "How columns are scaled. By public data: mean, deviation and a bound that holds for 95 % of the public records. Or by a bound that you declare, without looking at private data.",
    ),
    word(
        "filter",
        &["row filter"],
        "Which rows belong to a dataset, such as: age >= 30 and sex == \"F\". The number of private rows that pass counts as public, like the number of rows of a file.",
    ),
    word(
        "gaussian noise",
        &["gaussian", "subsampled gaussian", "gdp"],
        "Noise from the bell curve, scaled to what one record can change. Several such draws add up like one with less noise (GDP), exactly. Where each step sees a random sample of the records (subsampled), the same noise protects them more.",
    ),
    word(
        "gradient norm",
        &["median record", "90 % of records", "median gradient norm"],
        "How strongly single private records pull at the model; exact. The clip norm should lie near these numbers: far above, there is more noise than needed; far below, most records are cut.",
    ),
    word(
        "guarantee",
        &["differential privacy", "private"],
        "The promise to each person in the private data: whatever is released would have been nearly as likely without their record. ε and δ say how nearly. It holds whatever an attacker knows.",
    ),
    word(
        "hold-out",
        &["hold-out share", "held out", "private hold-out", "public hold-out"],
        "Records that the model never learns from, kept to see how good it is on new ones. More held-out records make the error more certain and leave fewer to learn from.",
    ),
    word(
        "holds if",
        &["holds for", "neighbouring data", "replace-one", "zero-out", "adjacency"],
        "The change of one person's record that the guarantee covers. Replace-one: it becomes any other record. Zero-out: it is left blank. The number of records is public in both. Replace-one is the stronger promise at the same ε.",
    ),
    word(
        "intercept",
        &[],
        "A constant feature, so that the model need not answer zero where all features are zero. Nearly always useful.",
    ),
    word(
        "label",
        &["label column"],
        "The column to be predicted. Private data may lack it; then only methods that re-weight public records can be used.",
    ),
    word(
        "label range",
        &["labels of a plan"],
        "The lowest and the highest label that count; labels outside are moved to the nearer of the two. It comes from the public labels, or you declare it. A range that is too wide needs more noise; one that is too narrow cuts off answers.",
    ),
    word(
        "labelled discrepancy",
        &["labelled", "with labels"],
        "How much worse, at most, a linear model can fit one dataset than the other, labels included. Less is better. The number is exact.",
    ),
    word(
        "ledger",
        &[],
        "The record of everything spent on private data. It is written before any noise is drawn, adds up all runs, and refuses a run that would exceed the budget. Keep it with the data.",
    ),
    word(
        "loss",
        &["public loss", "private loss", "loss on training records", "public hold-out loss"],
        "What the method minimises on the records that it learns from. Falling is good. If it falls while the error on held-out records rises, the model is learning single records by heart (overfitting).",
    ),
    word(
        "mean absolute error",
        &[
            "abs. error",
            "abs. error ◆",
            "public mean absolute error",
            "private mean absolute error",
        ],
        "How far answers are from the label on average, in units of the label. Less is better. \
         It is shown beside the root mean squared error, in which a few large errors weigh more.",
    ),
    word(
        "method",
        &[],
        "How the model is adapted. Methods that fit the data are at the top of the list; the \
         others are below, with the reason. A rehearsal (r on the Plan screen) tries them on \
         public data, for free.",
    ),
    word(
        "missing values",
        &["gaps"],
        "What happens to records with empty cells. Refuse: the dataset is not used. Drop: such records are left out. Public mean: gaps are filled with the mean of the public records.",
    ),
    word(
        "moment discrepancy",
        &["exact moment discrepancy"],
        "How far the weighted public records still are from looking like the private ones, in the averages of products of features. Less is better.",
    ),
    word(
        "noise",
        &["noise scale", "noise to signal", "sensitivity"],
        "Random numbers added to what is drawn from private records. Its size is the sensitivity (how far one record can move the result) times a factor that depends on ε and δ. The more records there are, the less the noise matters.",
    ),
    word(
        "objective",
        &["exact objective"],
        "The quantity that the method minimises: its error plus what keeps the model stable. Falling is good; with noise it falls until the noise takes over.",
    ),
    word(
        "outcome",
        &[
            "state",
            "running",
            "died",
            "reserved",
            "finished",
            "stopped",
            "failed",
            "given up",
            "abandoned",
            "recovered",
        ],
        "Running: a program works on the run now. Paused: it waits. Died: its program is gone; resume or settle it. Unseen, missing: its state cannot be seen from here. Reserved: a sweep has not started it yet. Finished and stopped runs have a model; failed, given up (in files: abandoned) and recovered ones may not.",
    ),
    word(
        "person",
        &["persons", "unit", "person column", "rows of a person"],
        "The one whom a guarantee protects, where a column says whose record a row is: a patient, a customer, a plane. All records of one person are protected together. Only their mean counts, so a person with many records has no more weight than one with a single record.",
    ),
    word(
        "preset",
        &["presets"],
        "A ready-made choice of ε and δ, or of usual settings, to start \
        from.",
    ),
    word(
        "principal angles",
        &[],
        "How well the directions of a public dataset match those of the private one, one by one, in degrees. Low curves are good. A dataset whose curve is near that of noise does not help; one near 'more private data' could not be better.",
    ),
    word(
        "private data",
        &["private", "private dataset"],
        "Records of the people whom the guarantee protects. What leaves them has noise and is in the ledger, or is exact, marked ◆ and for your eyes only.",
    ),
    word(
        "private data, no privacy",
        &["target-only", "no privacy"],
        "A plain model of the private records without any noise, exact and for your eyes only. It shows what privacy costs: no private model can be expected to do much better.",
    ),
    word(
        "private error",
        &["best private error", "private accuracy in %", "error on private hold-out"],
        "The error on private records that were held out, exact and for your eyes only. This is what adaptation is for: less is better. Numbers are in units of the label; for classes it is wrong answers, in percent.",
    ),
    word(
        "public data",
        &["public", "public dataset"],
        "Records that may be used without protection. They must not hold rows of the private data; this is checked.",
    ),
    word(
        "public data only",
        &["source-only", "public data alone"],
        "A plain model of the public records alone, which costs no privacy. A private model that is no better than this one is not worth its ε. The methods public_only and public_only_classes make it.",
    ),
    word(
        "public error",
        &["best public error", "public accuracy in %"],
        "The error on public records that were held out. It often rises while the model adapts to the private data, which is not a fault: look at the private error or at a released score instead.",
    ),
    word(
        "public model's error",
        &["zero-shot", "as it is", "error of its own model", "public model's score"],
        "How wrong a model of this public dataset alone is on the private records. For classes \
         it is the share of wrong answers; for numbers how far off it is, as a share of the \
         range that labels may have. Less is better. It predicts best how wrong a private model \
         will be.",
    ),
    word(
        "public predictor",
        &["predictor", "public_predictor", "public score"],
        "A model of the public records alone, whose score becomes one more feature of every record. No private record trains it, so it costs no ε. Trees help where no line follows the label, and may do harm where public records mislead: rehearse first.",
    ),
    word(
        "public weight",
        &[],
        "How much of the training weight lies on public records. Near 1, the private records have little influence; near 0, the public ones do not help.",
    ),
    word(
        "queue",
        &[],
        "Runs that wait for their turn. Each is charged when it starts, and the queue stops where the budget refuses one.",
    ),
    word(
        "ranking",
        &["rank"],
        "Which public dataset can stand in for the private one. With exact numbers it is free and for your eyes only; done privately it costs ε and may be shared.",
    ),
    word(
        "records",
        &["rows"],
        "How many rows there are. Under both kinds of neighbours that are used here the number of records is public.",
    ),
    word(
        "rehearsal",
        &["rehearsed"],
        "The plan is tried out with a public dataset in the private role. It shows which methods and which ε can be expected to be worth it, and costs no privacy.",
    ),
    word(
        "released",
        &["release", "release of a number"],
        "Computed from the private data with noise, and charged in the ledger. It may be shared, and used for further choices.",
    ),
    word(
        "role",
        &["roles"],
        "Private data are protected and have a budget. Public data may be used freely. The role decides everything else, so check it first.",
    ),
    word(
        "run",
        &["runs", "run name"],
        "One adaptation from start to end, with a directory of its own: model, certificate, curves. Its name contains the time at which it began.",
    ),
    word(
        "sample",
        &[],
        "A random part of the rows, given by its size and a seed. Which rows are taken does not depend on their contents.",
    ),
    word(
        "score",
        &["released score", "evaluation"],
        "How good the model is on held-out private records, released with noise and an interval. Unlike the private error it may be shared. It is free where the noise of training covers it; otherwise it costs a part of the run's ε.",
    ),
    word(
        "sealed view",
        &["seal", "sealed"],
        "A view in which exact numbers are neither computed nor shown. What is chosen in it depends on released numbers alone, so ε covers the choices too.",
    ),
    word(
        "seed",
        &[],
        "A number that fixes which records are held out and where training starts, so that a run can be repeated. Noise never depends on it.",
    ),
    word(
        "settle",
        &["settled", "settles"],
        "To close a run in the ledger: what it really drew stays charged, and the rest of its reserved ε is given back. A run settles itself when it ends. If its program died, settle it on the Ledger screen; what it had announced stays charged.",
    ),
    word(
        "signal to noise of the choice",
        &["selection signal"],
        "What the best choice of a round would gain, divided by what the noise is expected to cost. Below 1, rounds choose by chance: ask for fewer rounds or a larger ε.",
    ),
    word(
        "spent ε",
        &["spent", "charged"],
        "What a run has really used of the ε that it was granted. Several runs together cost less than the sum of their ε; the ledger shows the total.",
    ),
    word(
        "stationarity gap",
        &["exact stationarity gap", "noisy", "stationarity gap of the model"],
        "How far the model is from a point where no small step improves it. Falling is good; it levels off where the noise is as large as what is left to learn.",
    ),
    word(
        "steps",
        &["step"],
        "How many updates the method makes. More steps fit better and split the same ε into more, noisier draws.",
    ),
    word(
        "subspace energy",
        &["exact energy in the subspace", "public energy in the subspace"],
        "How much of the gradients lies in the directions that public data chose. Near 1, little is lost; near 0, the public directions do not fit the private data.",
    ),
    word(
        "sweep",
        &["sweeps"],
        "One plan run for several values of a setting. All runs are reserved together, and each is charged.",
    ),
    word(
        "tag",
        &["remark"],
        "Your remark on a run, kept in its directory. It is left out of what is passed on.",
    ),
    word(
        "task",
        &[],
        "What the label is: a number (regression) or one of several classes (classification). It decides which methods can be used.",
    ),
    word(
        "trial",
        &["trials"],
        "One of the small trainings of a rehearsal: one method on one split of public records, with its noise. Its result is an example of what may happen, and many of them give the range to expect.",
    ),
    word(
        "unseen",
        &["missing"],
        "A run on another machine whose state cannot be seen: the disk does not show here who holds its lock. It may be at work or dead. For the task of a sweep the word is 'missing'. When its file grows, it is running.",
    ),
    word(
        "verdict",
        &[],
        "Whether the model is good, in words: compared with public data only, with the trivial answer, and with private data without privacy. It also says how certain that is, given the number of held-out records.",
    ),
    word(
        "wrong answers",
        &["share of wrong answers", "error rate"],
        "How many records a model puts into the wrong class, in percent of those that it was asked about: 5 of 40 are 12.5 %. Less is better. Compare it with always giving the most common class.",
    ),
    word(
        "zCDP",
        &["rho", "ρ", "zero-concentrated"],
        "Another way to state a guarantee: one number ρ (rho) that adds up over draws and suits Gaussian noise. It implies an ε for every δ, about ρ + 2√(ρ·ln(1/δ)), which is larger than what is computed here.",
    ),
];

/// The change between neighbouring data for which a guarantee holds.
pub fn change(adjacency: Adjacency, of_persons: bool) -> &'static str {
    match (adjacency, of_persons) {
        (Adjacency::ReplaceOne, false) => "any one record is replaced",
        (Adjacency::ZeroOut, false) => "any one record is blanked",
        (Adjacency::ReplaceOne, true) => "any person's records are all replaced",
        (Adjacency::ZeroOut, true) => "any person's records are all blanked",
    }
}

/// An explanation to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub name: String,
    /// Other words for it.
    pub also: String,
    pub text: String,
}

impl From<&Word> for Explained {
    fn from(word: &Word) -> Self {
        Self { name: word.name.to_owned(), also: word.also.join(" "), text: word.text.to_owned() }
    }
}

/// The entry of a word, under any of its names.
pub fn find(name: &str) -> Option<&'static Word> {
    let name = name.trim().to_lowercase();
    let called = |word: &&Word| {
        word.name.to_lowercase() == name || word.also.iter().any(|it| it.to_lowercase() == name)
    };
    WORDS.iter().find(|word| word.name.to_lowercase() == name).or_else(|| WORDS.iter().find(called))
}

/// Explains a word of the glossary, a method or a setting.
pub fn explain(name: &str) -> Option<Explained> {
    find(name).map(Explained::from).or_else(|| method(name)).or_else(|| setting(name))
}

/// A method by its name in sessions, in papers or in plain words.
fn method(name: &str) -> Option<Explained> {
    let wanted = name.trim().to_lowercase();
    let mut specs = methods::methods().iter().map(|method| method.spec());
    let spec = specs.find(|spec| {
        [spec.id, spec.name, spec.paper].iter().any(|name| name.to_lowercase() == wanted)
    })?;
    let text =
        format!("{} In sessions it is called {}, in papers {}.", spec.summary, spec.id, spec.paper);
    Some(Explained { name: spec.name.to_owned(), also: spec.paper.to_owned(), text })
}

/// A setting of a method, by its name or its key.
fn setting(name: &str) -> Option<Explained> {
    let wanted = name.trim().to_lowercase();
    let specs = methods::methods().iter().map(|method| method.spec());
    let mut fields = specs.flat_map(|spec| spec.fields);
    let field = fields.find(|it| it.key == wanted || it.name.to_lowercase() == wanted)?;
    let text = format!("{} Takes {}.", field.help, field.kind.range());
    Some(Explained { name: field.name.to_owned(), also: field.key.to_owned(), text })
}

/// Words that are similar to an unknown one.
pub fn near(name: &str) -> Vec<&'static str> {
    let wanted = name.trim().to_lowercase();
    let names = |word: &'static Word| std::iter::once(word.name).chain(word.also.iter().copied());
    let close = |other: &str| {
        let other = other.to_lowercase();
        other.contains(&wanted) || (other.chars().count() > 2 && wanted.contains(&other))
    };
    WORDS.iter().filter(|word| names(word).any(close)).map(|word| word.name).take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Series;

    #[test]
    fn every_word_is_there_once_and_is_explained_in_a_few_short_sentences() {
        let mut seen = std::collections::BTreeSet::new();
        for word in WORDS {
            assert!(seen.insert(word.name.to_lowercase()), "{} is there twice", word.name);
            let sentences = word.text.matches(['.', '!']).count();
            assert!(word.text.ends_with('.') && sentences >= 1, "{}", word.name);
            assert!(word.text.chars().count() <= 320, "{} is too long", word.name);
        }
    }

    #[test]
    fn the_guide_lists_exactly_these_words() {
        let page = include_str!("../../assets/guide/words.md");
        let (_, rest) = page.split_once("<!-- words -->\n").expect("the mark before the words");
        let (words, _) = rest.split_once("<!-- end of words -->").expect("the mark behind them");
        let also = |word: &Word| match word.also {
            [] => String::new(),
            also => format!(" ({})", also.join(", ")),
        };
        let line = |word: &Word| format!("**{}**{}: {}\n", word.name, also(word), word.text);
        let wanted = WORDS.iter().map(line).collect::<Vec<_>>().join("\n");
        assert!(words == wanted, "the guide's words should read:\n{wanted}");
    }

    #[test]
    fn every_series_of_a_chart_is_explained() {
        for name in [
            Series::Objective,
            Series::ExactObjective,
            Series::PublicLoss,
            Series::PrivateLoss,
            Series::PublicError,
            Series::PrivateError,
            Series::StationarityGap,
            Series::ExactStationarityGap,
            Series::ModelGap,
            Series::SelectionSignal,
            Series::MomentDiscrepancy,
            Series::ExactMomentDiscrepancy,
            Series::EffectiveSample,
            Series::PublicWeight,
            Series::PublicAccuracy,
            Series::PrivateAccuracy,
            Series::PublicAbsoluteError,
            Series::PrivateAbsoluteError,
            Series::PublicBalancedAccuracy,
            Series::PrivateBalancedAccuracy,
            Series::PublicAuc,
            Series::PrivateAuc,
            Series::HoldoutLoss,
            Series::ClipFraction,
            Series::GradientMedian,
            Series::SubspaceEnergy,
            Series::ExactSubspaceEnergy,
        ] {
            assert!(find(name.words()).is_some(), "{}", name.words());
        }
    }

    #[test]
    fn words_are_found_under_all_their_names_and_near_ones_are_offered() {
        assert_eq!(find("Epsilon").unwrap().name, "ε");
        assert_eq!(find("zero-shot").unwrap().name, "public model's error");
        assert_eq!(explain("pillar").unwrap().name, "private, on public directions");
        assert!(explain("clip_norm").or_else(|| explain("steps")).is_some());
        assert!(explain("nonsense").is_none() && near("nonsense").is_empty());
        assert!(near("discrep").contains(&"discrepancy"));
    }
}
