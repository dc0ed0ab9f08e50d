//! The words of a certificate, written a second time: which sentences must stand in it, and that
//! they say what its fields say. The words are those of the program that wrote it, so that nobody can
//! take one out, or add one, unnoticed.

use serde_json::{Value, json};

use super::certificate::{is_less, number_of};
use super::json::items;

/// Since this form of the file, every sentence is known here word by word.
const KNOWN_WORDS: u64 = 3;

const COVERED: [&str; 3] = [
    "the model and its files",
    "every number marked 'released' in events.jsonl",
    "whatever is computed from these and from data that do not depend on the private records",
];
const SCORE_COVERED: &str = "the score on private records that were held out of training";
const NOTHING_HOLDS: &str = "No bound holds for any test of who was among the records.";
const COLUMNS: &str =
    "the names and kinds of the columns, the classes, and every bound that was declared";
const UNTOLD_LOOKS: &str = "not told here: the ledger of the curator knows";
/// Methods whose guarantee assumes more of the public data than others.
pub const SEMI_PRIVATE: [&str; 4] = ["pretraining", "gep", "adadps", "pillar"];

/// A sentence that must be there: the whole of it, or its beginning.
struct Wanted {
    text: String,
    is_whole: bool,
}

impl Wanted {
    fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_whole: true }
    }

    fn begin(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_whole: false }
    }

    fn is(&self, sentence: &str) -> bool {
        sentence.starts_with(&self.text) && (!self.is_whole || sentence.len() == self.text.len())
    }
}

/// The beginning of a sentence.
fn beginning(sentence: &str) -> String {
    sentence.chars().take(60).collect()
}

/// What a guarantee protects.
pub(super) fn protected(person: Option<&str>) -> String {
    person.map_or_else(|| "records".to_owned(), |it| format!("persons (by '{it}')"))
}

/// The fields of a run's certificate on which its words depend.
struct Words<'a> {
    it: &'a Value,
    /// Runs on the same account from which the model started.
    earlier: Vec<&'a str>,
    person: Option<&'a str>,
    records: u64,
    is_known: bool,
    faults: Vec<String>,
}

/// What the guarantee of a certificate assumes of the private file, if it or a run that its model
/// started from is of a version that chose rows by their place.
pub fn assumption_of_order(it: &Value) -> Option<String> {
    let by_place = |run: &Value| run.get("order").is_none();
    let some = by_place(it) || items(&it["start"]["runs"]).iter().any(by_place);
    (some && !it["guarantee"].is_null()).then(|| {
        "an earlier version chose rows by their place, so the guarantee assumes that the order of the \
         rows in the private file did not depend on what they hold"
            .to_owned()
    })
}

/// Faults of the words of a run's certificate. `earlier` are the runs on its own account from which
/// its model started.
pub fn faults(it: &Value, earlier: Vec<&str>) -> Vec<String> {
    let person = it["person"].as_str();
    let format = it["format"].as_u64().unwrap_or(1);
    let records = it["records"].as_u64().unwrap_or_default();
    let is_known = format >= KNOWN_WORDS;
    let mut words = Words { it, earlier, person, records, is_known, faults: Vec::new() };
    words.form(format);
    words.order();
    words.unit();
    words.not_covered();
    if words.is_known {
        words.statement();
        words.reading();
        words.covered();
        words.taken_as_public();
        words.assumption();
        words.proofs();
        words.registry();
        words.allowed();
    }
    words.faults
}

fn texts<'a>(it: &'a Value, name: &str) -> Vec<&'a str> {
    items(&it[name]).iter().filter_map(Value::as_str).collect()
}

/// What stands in the slots `{}` of a text, if the rest is the same.
pub(super) fn slots<'a>(text: &'a str, pattern: &str) -> Option<Vec<&'a str>> {
    let mut pieces = pattern.split("{}");
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut found = Vec::new();
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        let end = match (pieces.peek(), piece) {
            (None, "") => rest.len(),
            _ => rest.find(piece)?,
        };
        found.push(&rest[..end]);
        rest = &rest[end + piece.len()..];
    }
    rest.is_empty().then_some(found)
}

impl Words<'_> {
    fn fault(&mut self, what: impl Into<String>) {
        self.faults.push(what.into());
    }

    fn text(&self, name: &str) -> &str {
        self.it[name].as_str().unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.it[name] == true
    }

    fn of(&self, name: &str, key: &str) -> Option<f64> {
        self.it[name][key].as_f64()
    }

    fn has(&self, name: &str) -> bool {
        !self.it[name].is_null()
    }

    /// The runs that its model started from.
    fn starts(&self) -> &[Value] {
        items(&self.it["start"]["runs"])
    }

    /// A certificate may not pass for an older one, of which fewer words are known here.
    fn form(&mut self, format: u64) {
        let later = ["program", "taken_as_public", "proofs", "registry", "ledger_line", "model"];
        let later = later.into_iter().find(|name| self.has(name)).filter(|_| format < 2);
        if format == 0 || format > KNOWN_WORDS {
            self.fault(format!(
                "`format` {format} is not known here: verify it with the version that wrote it"
            ));
        } else if let Some(later) = later {
            self.fault(format!("`format` {format} has no `{later}`: one of them was edited"));
        }
    }

    /// Since the order of rows is secret, a certificate says so. Only older ones may lack it.
    fn order(&mut self) {
        let order = self.it["order"].as_str();
        let wanted = (self.is_known && self.has("guarantee")).then_some("secret");
        if order != wanted {
            self.fault(match order {
                Some(other) => {
                    format!("`order` is '{other}', which this form of the file cannot be")
                }
                None => "`order` is missing: the order of rows was not secret, or it was edited"
                    .to_owned(),
            });
        }
    }

    /// Records and persons must not be mixed up: one promises much more than the other.
    fn unit(&mut self) {
        let unit = self.it["unit"].as_str().unwrap_or("record");
        let wanted = if self.person.is_some() { "person" } else { "record" };
        if unit != wanted {
            self.fault(format!("`unit` is '{unit}', and by `person` it is a {wanted}"));
        }
        let (own, other) = ("one of them had been ", "all records of one person had been ");
        let (own, other) = if self.person.is_some() { (other, own) } else { (own, other) };
        let statement = self.text("statement");
        let drew = self.of("guarantee", "epsilon").is_some_and(|epsilon| epsilon > 0.0);
        if drew && (!statement.contains(own) || statement.contains(other)) {
            self.fault(format!("`statement` does not speak of a {wanted}, as `unit` says"));
        }
    }

    fn not_covered(&mut self) {
        let sentences = texts(self.it, "not_covered");
        let wanted = self.limits();
        for it in &wanted {
            if !sentences.iter().any(|sentence| it.is(sentence)) {
                self.fault(format!("`not_covered` does not say '{}…'", beginning(&it.text)));
            }
        }
        if !self.is_known {
            return;
        }
        let more = |sentence: &str| {
            let several = "what {} other ledgers of the same user charged on these records: {}";
            sentence.starts_with("what this account spent before, as far as it is unknown: ")
                || sentence
                    .starts_with("what another ledger of the same user charged on these records: ")
                || slots(sentence, several).is_some()
        };
        let strange =
            sentences.iter().find(|it| !wanted.iter().any(|known| known.is(it)) && !more(it));
        if let Some(strange) = strange {
            let begin = beginning(strange);
            self.fault(format!(
                "`not_covered` says '{begin}…', and the other fields give no cause"
            ));
        }
        if sentences.len() != items(&self.it["not_covered"]).len() {
            self.fault("`not_covered` holds something that is not a sentence");
        }
    }

    /// The limits of a certificate with these fields.
    fn limits(&self) -> Vec<Wanted> {
        let others = "what other runs and releases on the same data add: they compose, and the ledger \
                      of the workspace has the sum";
        let looks = "the choice of this run, its settings or its public data by looking at the private \
                     data without a released number (non-private ranking, tuning on exact numbers)";
        let public = "public data that depend on the private records";
        let mut list = vec![
            Wanted::whole(match self.person {
                None => {
                    "a person with several records: k records of one person are protected at k·ε \
                         only, with a larger δ"
                        .to_owned()
                }
                Some(unit) => format!(
                    "a person who appears under several values of '{unit}': under k values they are \
                     protected at k·ε only, with a larger δ"
                ),
            }),
            Wanted::whole(
                "bounds, filters or category lists that somebody took from the private data by hand",
            ),
            Wanted::whole(
                "what is true of the population and would be found without any single record",
            ),
            Wanted::whole(
                "how long the run took, its memory, and access to the machine, its files or the screen",
            ),
        ];
        let peeked = self.flag("peeked").then(|| {
            Wanted::whole(match self.text("outcome") {
                "finished" => {
                    "anything decided because of exact numbers: the curator could see \
                               them while the run worked (peeked)"
                }
                _ => {
                    "the moment at which the run ended: the curator could see exact numbers and \
                      may have stopped it because of them (peeked)"
                }
            })
        });
        if !self.is_known {
            list.extend([public, others, looks].map(Wanted::begin));
            list.extend(peeked);
            return list;
        }
        let said = texts(self.it, "not_covered");
        let has = |text: &str| said.iter().any(|it| it.starts_with(text));
        list.push(Wanted::whole(format!(
            "{public}, such as private rows in a public file where they are less than a tenth of the \
             smaller one, and whatever else is taken as public"
        )));
        let claims =
            format!("{others}; before this run other trainers claimed to have drawn from them: ");
        list.push(if has(&claims) { Wanted::begin(claims) } else { Wanted::whole(others) });
        let none = format!("{looks}; before this run the ledger knew of no such look");
        let known = format!("{looks}; before this run the ledger knew of ");
        // The words of versions until November 2026.
        let untold_before = [
            "whether there was such a look before this run is not told here, and the curator's own \
             copy of the certificate says it",
            "this copy leaves out earlier looks of this kind, if there were any: the curator's own \
             copy lists them. A ranking whose numbers were released with noise is no such look",
        ];
        let untold_before = untold_before.map(|words| format!("{looks}; {words}"));
        list.push(if has(&none) {
            Wanted::whole(none)
        } else if has(&known) {
            Wanted::begin(known)
        } else if let Some(untold) = untold_before.into_iter().find(|it| has(it)) {
            Wanted::whole(untold)
        } else {
            Wanted::whole(format!(
                "{looks}; this copy does not say whether there were earlier looks of this kind: the \
                 curator's own copy lists them. Where a report shows a ranking of the public data, \
                 one by exact numbers was such a look, and one whose numbers were released with \
                 noise was not"
            ))
        });
        list.extend(peeked);
        let sites = texts(self.it, "other_sites");
        if !sites.is_empty() {
            list.push(Wanted::whole(format!(
                "the records of other sites, on which the model depends, too ({}): `joint.json` of the \
                 run says what holds for them",
                sites.join(", ")
            )));
        }
        if let Some(number) = self.it["may_collude"].as_u64() {
            list.push(Wanted::whole(format!(
                "what more than {number} of the sites learn that put together what they know, or somebody who \
                 can compute the masks: all sites have one noise, and `joint.json` says what is left then"
            )));
        }
        if self.starts().iter().any(|run| run["peeked"] == true) {
            list.push(Wanted::whole(
                "anything decided because of exact numbers while the starting model was trained \
                 (peeked)",
            ));
        }
        let void = !self.has("guarantee");
        let delta = self.of("guarantee", "delta");
        // A void certificate states neither number, and may have both sentences.
        let large = format!(
            "everybody for certain: δ = {}",
            delta.map_or_else(String::new, |it| format!("{it:e} is not below 1/n"))
        );
        if self.is_large(delta) || (void && has(&large)) {
            list.push(Wanted::begin(large));
        }
        let own = self.of("of_this_run", "epsilon").or(self.of("guarantee", "epsilon"));
        let asked = self.of("target", "epsilon").unwrap_or_default();
        let printed =
            format!("the ε = {asked} that was asked for: the noise is the one that a paper prints");
        if own.is_some_and(|own| own > asked) || (void && has(&printed)) {
            list.push(Wanted::begin(printed));
        }
        list
    }

    /// Whether a δ is not below 1/n.
    fn is_large(&self, delta: Option<f64>) -> bool {
        delta.is_some_and(|delta| delta >= 1.0 / self.records.max(1) as f64)
    }

    /// The numbers of sentences are checked elsewhere.
    fn statement(&mut self) {
        let statement = self.text("statement").to_owned();
        let Some(epsilon) = self.of("guarantee", "epsilon") else {
            let seed = self.it["noise"].get("known_seed").map(Value::to_string).unwrap_or_default();
            let begin = format!(
                "NO GUARANTEE. The noise of this run came from the seed {seed}, which was given on the \
                 command line"
            );
            if !statement.starts_with(&begin) || statement.contains("differential privacy") {
                self.fault("`statement` does not say that the noise came from the seed in `noise`");
            }
            return;
        };
        let (n, names) = (self.records, self.earlier.join(" and "));
        let whose = match self.person {
            None => format!("{n} private training records"),
            person => format!("all private training records of {n} {}", protected(person)),
        };
        let replaced = self.adjacency() == "replace_one";
        let (exchange, one) = match (self.person.is_some(), replaced) {
            (false, true) => ("one of them had been any other record instead", "record is"),
            (false, false) => ("one of them had been left blank instead", "record is"),
            (true, true) => (
                "all records of one person had been those of any other person instead",
                "person's records are",
            ),
            (true, false) => {
                ("all records of one person had been left blank instead", "person's records are")
            }
        };
        let fits = if epsilon == 0.0 {
            let end = format!(
                "This run drew nothing from {whose}: its outputs would have been the same if {exchange}."
            );
            statement == end
                || statement == format!("The model was made from public data alone. {end}")
        } else {
            let adjacency = if replaced { "replace-one" } else { "zero-out" };
            let place = if self.is_anywhere() { ", wherever in the file," } else { "" };
            let end = |outputs: &str| {
                format!(
                    " If {exchange}{place} and nothing else had been different ({adjacency}), the probability \
                     of any set of {outputs} would have been at most e^{{}} = {{}} times as large, plus \
                     {{}}; and the same holds the other way round. This is (ε, δ)-differential privacy \
                     with ε = {{}} and δ = {{}}. It holds whatever that {one} and whatever else anybody \
                     knows."
                )
            };
            let public_alone = "The model was made from public data alone, and only its score used \
                                private records: those that were held out.";
            let (used, outputs) = if self.earlier.is_empty() {
                (format!("This run used {whose}."), "its outputs".to_owned())
            } else {
                let builds = format!(
                    "This run used {whose}, and its model builds on that of {names}, which used the \
                     same private data."
                );
                (builds, format!("its outputs together with those of {names}"))
            };
            let end = end(&outputs);
            let patterns = [used.as_str(), public_alone].map(|begin| format!("{begin}{end}"));
            patterns.iter().filter_map(|pattern| slots(&statement, pattern)).any(|found| {
                found.iter().all(|it| it.parse::<f64>().is_ok() || *it == "more than 10000")
            })
        };
        if !fits {
            self.fault("`statement` is not the sentence that the other fields give");
        }
    }

    /// Whether this run, and those on the same account that it builds on, chose among private rows in
    /// a secret order.
    fn is_anywhere(&self) -> bool {
        let is_secret = |run: &Value| run["order"] == "secret";
        let is_own = |run: &&Value| self.earlier.contains(&run["run"].as_str().unwrap_or_default());
        is_secret(self.it) && self.starts().iter().filter(is_own).all(is_secret)
    }

    fn adjacency(&self) -> &str {
        self.it["guarantee"]["adjacency"].as_str().unwrap_or_default()
    }

    /// The best power of a test with 5 % of false alarms is the smaller of two lines.
    fn reading(&mut self) {
        let reading = self.text("reading");
        let (Some(epsilon), Some(delta)) =
            (self.of("guarantee", "epsilon"), self.of("guarantee", "delta"))
        else {
            if reading != NOTHING_HOLDS {
                self.fault("`reading` promises something, and there is no guarantee");
            }
            return;
        };
        let pattern = if self.person.is_some() {
            "Somebody who knows the records of everybody else and sees the outputs tests whether a certain \
             person was among them. A test that raises a false alarm in 5 of 100 cases finds the person, \
             where they were there, in at most {} of 100 cases."
        } else {
            "Somebody who knows all other records and sees the outputs tests whether a certain record was \
             among the data. A test that raises a false alarm in 5 of 100 cases finds the record, where it \
             is there, in at most {} of 100 cases."
        };
        let said =
            slots(reading, pattern).and_then(|found| found.first().copied().and_then(number_of));
        let steep = 0.05 * epsilon.exp() + delta;
        let flat = 1.0 - (-epsilon).exp() * (0.95 - delta);
        let power = 100.0 * steep.min(flat).clamp(0.0, 1.0);
        match said {
            None => self.fault("`reading` is not the sentence that the other fields give"),
            Some(said) if is_less(said, power) => {
                self.fault(format!(
                    "`reading` says {said} of 100 cases, and the guarantee gives {power:.1}"
                ));
            }
            Some(_) => {}
        }
    }

    fn covered(&mut self) {
        let score = &self.it["score"];
        let own = !score.is_null() && score.get("elsewhere").is_none();
        let wanted: Vec<&str> = if self.has("guarantee") {
            COVERED.into_iter().chain(own.then_some(SCORE_COVERED)).collect()
        } else {
            Vec::new()
        };
        if self.it.get("covered") != Some(&json!(wanted)) {
            self.fault("`covered` is not what a run of this kind covers");
        }
    }

    fn taken_as_public(&mut self) {
        let list = texts(self.it, "taken_as_public");
        let what = protected(self.person);
        let counted = format!(
            "that there are private {what}, how many of them train and how many are held out"
        );
        let hidden = "the number {}, and not how many private records there are: {}";
        let number = list.iter().any(|it| {
            let part = it.strip_prefix(counted.as_str());
            part.is_some_and(|it| it.is_empty() || it == ", and that its row filter left so many")
                || slots(it, hidden).is_some()
        });
        if !number || !list.contains(&COLUMNS) {
            self.fault("`taken_as_public` lacks the number of records, or the columns");
        }
        let hash = self.it["start"]["declared_public"]["sha256"].as_str();
        let declared = "): the user declared it public, and nobody";
        if let Some(hash) = hash
            && !list.iter().any(|it| it.contains(&format!("(SHA-256 {hash}{declared}")))
        {
            self.fault("`taken_as_public` lacks the model that `start` says was declared public");
        }
        if hash.is_none() && list.iter().any(|it| it.contains(declared)) {
            self.fault("`taken_as_public` has a declared model, and `start` does not");
        }
    }

    fn assumption(&mut self) {
        let method = self.text("method");
        if SEMI_PRIVATE.contains(&method) && !self.text("assumption").contains("semi-private") {
            self.fault(format!("`assumption` does not say that '{method}' is semi-private"));
        }
    }

    fn proofs(&mut self) {
        let proofs = texts(self.it, "proofs");
        let pages: Vec<&str> =
            proofs.iter().filter_map(|it| it.strip_prefix("halflight guide proofs/")).collect();
        let further = usize::from(self.has("chosen")) + usize::from(self.has("score"));
        let is_page = |it: &&str| {
            !it.is_empty() && it.bytes().all(|it| it.is_ascii_lowercase() || it == b'_')
        };
        let fits = pages.len() >= 2 + further
            && proofs.len() == pages.len()
            && pages.iter().all(is_page)
            && pages.last() == Some(&"accountant")
            && pages.contains(&"choices") == self.has("chosen")
            && pages.contains(&"scores") == self.has("score");
        if !fits {
            self.fault(
                "`proofs` does not name the pages of a method, of scores and choices as far as there \
                 are any, and of the accountant",
            );
        }
    }

    /// The block for registries repeats the other fields.
    fn registry(&mut self) {
        let (registry, guarantee) = (&self.it["registry"], &self.it["guarantee"]);
        if guarantee.is_null() {
            if !registry.is_null() {
                self.fault("`registry` states a guarantee, and there is none");
            }
            return;
        }
        let metric = match (self.adjacency() == "replace_one", self.person) {
            (true, None) => "one record replaced by any other",
            (false, None) => "one record replaced by a blank one",
            (true, Some(_)) => "all records of one person replaced by any others",
            (false, Some(_)) => "all records of one person replaced by blank ones",
        };
        let (unit, described, unprotected) = match self.person {
            None => (
                "record",
                "one row of the private dataset".to_owned(),
                "number of records, columns, classes, declared bounds",
            ),
            Some(person) => (
                "person",
                format!("all rows of the private dataset with the same '{person}'"),
                "number of persons, columns, classes, declared bounds",
            ),
        };
        let tuning = "pre_processing_eda_hyperparameter_tuning";
        let looks = registry["accounting"][tuning].as_str().unwrap_or_default();
        let told = texts(self.it, "not_covered");
        let ends = |end: &str| told.iter().any(|it| it.ends_with(end));
        let repeated = match looks {
            UNTOLD_LOOKS => {
                let untold = [
                    "such a look before this run is not told",
                    "leaves out earlier looks",
                    "does not say whether there were earlier looks",
                ];
                told.iter().any(|it| untold.iter().any(|words| it.contains(words)))
            }
            "none outside the guarantee that the ledger knows of" => ends("knew of no such look"),
            looks => !looks.is_empty() && ends(&format!(": {looks}")),
        };
        if !repeated {
            self.fault("`registry` and `not_covered` say different things about looks at the data");
        }
        let mechanisms = items(&self.it["mechanisms"]);
        let what: Vec<&Value> = mechanisms.iter().filter_map(|it| it.get("what")).collect();
        let wanted = json!({
            "deployment": {
                "data_product_type": "machine learning model",
                "description": format!("a model trained by the method {}", self.text("method")),
            },
            "dp_flavor": {
                "name": if guarantee["delta"] == 0.0 { "pure DP" } else { "approximate DP" },
                "input_metric": metric,
                "bound_on_dataset_size": "bounded",
                "unprotected_quantities": unprotected,
            },
            "privacy_loss": {
                "privacy_unit": unit,
                "privacy_unit_description": described,
                "privacy_parameters": {"epsilon": guarantee["epsilon"], "delta": guarantee["delta"]},
            },
            "model": {
                "model_name": "central",
                "model_name_description": "one trusted curator holds the data and adds the noise",
                "is_dynamic": false,
                "is_interactive": false,
            },
            "accounting": {
                "composition": guarantee["bound"],
                "post_processing": "everything after the listed mechanisms uses their outputs and \
                                    public data only",
                tuning: looks,
            },
            "implementation": {
                "mechanisms": what,
                "library": format!("halflight {}", self.text("halflight")),
            },
        });
        if let Some(place) = difference(registry, &wanted, "registry") {
            self.fault(format!("`{place}` is not what the other fields give"));
        }
    }

    fn allowed(&mut self) {
        let large = self.is_large(self.of("guarantee", "delta"));
        if large && !self.flag("allow_large_delta") {
            self.fault("`allow_large_delta` is false, and δ is not below 1/n");
        }
        let own = if self.has("of_this_run") { "of_this_run" } else { "guarantee" };
        let (said, asked) = (self.of(own, "delta"), self.of("target", "delta"));
        if said.is_some() && said > asked {
            self.fault(format!("`{own}` has a larger δ than `target`"));
        }
        let model = self.text("model");
        if self.has("model")
            && !(model.len() == 64 && model.bytes().all(|it| it.is_ascii_hexdigit()))
        {
            self.fault("`model` is not a SHA-256");
        }
        for name in ["run", "account", "method", "outcome", "halflight", "accountant", "unit"] {
            if self.text(name).is_empty() {
                self.fault(format!("there is no `{name}`"));
            }
        }
    }
}

/// The place of the first difference.
fn difference(found: &Value, wanted: &Value, at: &str) -> Option<String> {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            let keys = wanted.keys().chain(found.keys());
            keys.into_iter().find_map(|key| {
                let at = format!("{at}.{key}");
                match (found.get(key), wanted.get(key)) {
                    (Some(found), Some(wanted)) => difference(found, wanted, &at),
                    _ => Some(at),
                }
            })
        }
        // Whole numbers may be written with or without a point.
        (Value::Number(found), Value::Number(wanted)) if found.as_f64() == wanted.as_f64() => None,
        (found, wanted) => (found != wanted).then(|| at.to_owned()),
    }
}
