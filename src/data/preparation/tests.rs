use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::numeric::columns::ExampleColumns;
use crate::read::csv;
use crate::{Column, Columns, Missing, Role, Source, UnknownLabels, Values, Vectors};

fn definition(label: &str) -> DatasetDefinition {
    let source = Source::File("public.csv".into());
    DatasetDefinition {
        label: Some(label.into()),
        ..DatasetDefinition::new("public", Role::Public, source)
    }
}

fn categories(column: &str, values: &[&str]) -> BTreeMap<String, Vec<String>> {
    [(column.to_owned(), strings(values))].into()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn table(text: &str) -> Table {
    csv::read_bytes("t.csv", text.as_bytes()).ok().unwrap()
}

fn raw() -> PreparationSettings {
    PreparationSettings {
        features: FeatureScaling::Declared(1e6),
        labels: LabelRange::Declared(0.0, 10.0),
        intercept: false,
    }
}

fn fit(text: &str, definition: &DatasetDefinition, settings: &PreparationSettings) -> Preparation {
    match Preparation::fit(&table(text), definition, settings) {
        Ok(preparation) => preparation,
        Err(error) => panic!("{error}"),
    }
}

fn refusal(text: &str, definition: &DatasetDefinition) -> String {
    let settings = PreparationSettings::default();
    Preparation::fit(&table(text), definition, &settings).unwrap_err().to_string()
}

fn example(dataset: &Dataset, row: usize) -> Vec<f64> {
    dataset.features.column(row).iter().copied().collect()
}

const SHOPS: &str = "size,kind,hr,y\n1,b,0,1\n2,a,7,2\n4,b,7.0,9\n";

#[test]
fn text_becomes_one_feature_per_public_value_and_one_for_all_others() {
    let mut definition = definition("y");
    definition.categories = categories("hr", &[]);
    let preparation = fit(SHOPS, &definition, &raw());
    let names = ["size", "kind=a", "kind=b", "kind=other", "hr=0", "hr=7", "hr=other"];
    assert_eq!(preparation.feature_names(), names);
    assert_eq!(preparation.dimension(), 7);
    let other = table("y,hr,kind,size\n5,7,a,3\n5,?,zebra,3\n5,8,b,3\n");
    let dataset = preparation.apply(&other, "shops", false).unwrap();
    assert_eq!(example(&dataset, 0), [3.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(example(&dataset, 1), [3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(example(&dataset, 2), [3.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!((dataset.name.as_str(), dataset.target), ("shops", None));
}

#[test]
fn a_column_of_vectors_becomes_as_many_features_as_it_is_wide() {
    let table = |width, values: Vec<f32>| {
        let x = Column::Vectors(Vectors::new(width, Values::F32(values)).unwrap());
        let y = Column::Numbers((0..x.len()).map(|row| row as f64).collect());
        Table::of_rows("t.npz", strings(&["x", "y"]), vec![x, y]).ok().unwrap()
    };
    let public = table(2, vec![1.0, 5.0, 3.0, 5.0, 8.0, 5.0]);
    let raw = Preparation::fit(&public, &definition("y"), &raw()).unwrap();
    assert_eq!(raw.feature_names(), ["x[0]", "x[1]"]);
    let dataset = raw.apply(&public, "t", true).unwrap();
    assert_eq!(example(&dataset, 2), [8.0, 5.0]);
    let scaled = PreparationSettings { intercept: false, ..PreparationSettings::default() };
    let scaled = Preparation::fit(&public, &definition("y"), &scaled).unwrap();
    let dataset = scaled.apply(&public, "t", false).unwrap();
    let sum: f64 = (0..3).map(|row| example(&dataset, row)[0]).sum();
    assert!(sum.abs() < 0.5 && example(&dataset, 1)[1] == 0.0, "{sum}");
    for (other, complaint) in [
        (table(3, vec![0.0; 9]), "t.npz, column 'x': expected vectors of 2 numbers, found"),
        (table(2, vec![0.0, 1.0, 2.0, f32::NAN]), "t.npz, row 2, column 'x[1]': expected a number"),
    ] {
        let error = raw.apply(&other, "t", false).unwrap_err().to_string();
        assert!(error.starts_with(complaint), "{error}");
    }
    let error = Preparation::fit(&public, &definition("x"), &PreparationSettings::default());
    assert!(error.unwrap_err().to_string().contains("one number in each row"));
}

#[test]
fn declared_values_take_the_place_of_public_ones() {
    let mut definition = definition("y");
    definition.columns = Columns::Only(strings(&["hr", "kind", "y"]));
    definition.categories = categories("hr", &["7.0", "23"]);
    let preparation = fit(SHOPS, &definition, &raw());
    let names = ["hr=7", "hr=23", "hr=other", "kind=a", "kind=b", "kind=other"];
    assert_eq!(preparation.feature_names(), names);
    let dataset = preparation.apply(&table(SHOPS), "shops", true).unwrap();
    assert_eq!(example(&dataset, 0)[..3], [0.0, 0.0, 1.0]);
    assert_eq!(example(&dataset, 2)[..3], [1.0, 0.0, 0.0]);
    definition.categories = categories("hr", &["7", "7.0"]);
    assert!(refusal(SHOPS, &definition).contains("declares the value '7.0' twice"));
}

#[test]
fn a_column_whose_rare_value_is_clipped_is_named_and_an_even_one_is_not() {
    let rows = (0..200).map(|row| {
        let [rare, even] = [row % 100 == 7, row % 2 == 0].map(u8::from);
        format!("{rare},{even},{}.5,{row}\n", row % 13)
    });
    let data = table(&format!("rare,even,x,y\n{}", rows.collect::<String>()));
    let preparation =
        Preparation::fit(&data, &definition("y"), &PreparationSettings::default()).unwrap();
    let found = preparation.clipping(&data, true).unwrap();
    assert_eq!(found.rare, ["rare"]);
    assert!(
        found.note_on_rare_values().unwrap().contains("with the rarer value of 'rare' are clipped")
    );
    let wide = PreparationSettings { features: FeatureScaling::Declared(500.0), ..raw() };
    let wide = Preparation::fit(&data, &definition("y"), &wide).unwrap();
    assert_eq!(wide.clipping(&data, true).unwrap().note_on_rare_values(), None);
}

#[test]
fn declared_bounds_leave_features_as_they_are_up_to_the_norm() {
    let settings = PreparationSettings { features: FeatureScaling::Declared(5.0), ..raw() };
    let data = table("a,b,y\n0,1,0\n3,4,10\n30,40,20\n0,0,5\n");
    let preparation = Preparation::fit(&data, &definition("y"), &settings).unwrap();
    let dataset = preparation.apply(&data, "d", true).unwrap();
    assert_eq!(dataset.bounds, Bounds { feature_norm: 5.0, label: 1.0 });
    for (row, expected) in [(0, [0.0, 1.0]), (1, [3.0, 4.0]), (2, [3.0, 4.0])] {
        for (value, expected) in example(&dataset, row).iter().zip(expected) {
            assert!((value - expected).abs() < 1e-10, "{row}: {value}");
        }
    }
    assert_eq!(dataset.target, Some(vec![-1.0, 1.0, 1.0, 0.0]));
    assert_eq!(dataset.clipped, 1);
    let clipping = preparation.clipping(&data, true).unwrap();
    let column = Some("b".to_owned());
    assert_eq!(clipping, Clipping { rows: 4, features: 1, column, labels: 1, rare: Vec::new() });
    let words = clipping.words("y");
    assert!(words.starts_with("of the public ones 25.0 % by the features, most of all 'b'"));
    let narrow = PreparationSettings { labels: LabelRange::Declared(0.0, 8.0), ..raw() };
    let narrow = Preparation::fit(&data, &definition("y"), &narrow).unwrap();
    assert_eq!(narrow.clipping(&data, true).unwrap().labels, 2);
    assert_eq!(preparation.label_from_prediction(0.5), 7.5);

    let with_intercept = PreparationSettings { intercept: true, ..settings };
    let preparation = Preparation::fit(&data, &definition("y"), &with_intercept).unwrap();
    assert_eq!(preparation.feature_names(), ["a", "b", "(intercept)"]);
    let dataset = preparation.apply(&data, "d", true).unwrap();
    let constant = 5.0 / SQRT_2;
    assert!((0..4).all(|row| (example(&dataset, row)[2] - constant).abs() < 1e-10));
    assert!((dataset.features.column(2).norm() - 5.0).abs() < 1e-10);
}

#[test]
fn public_scaling_standardises_and_bounds_the_95_percent_quantile() {
    // a = 1 … 100: mean 50.5, variance (100² − 1)/12; the 95th largest
    // distance from the mean is that of 3 and 98, 47.5.
    let rows = (1..=100).map(|i| format!("{i},7.1,{i}\n")).collect::<Vec<_>>().concat();
    let settings = PreparationSettings { intercept: false, ..PreparationSettings::default() };
    let data = table(&format!("a,constant,y\n{rows}"));
    let preparation = Preparation::fit(&data, &definition("y"), &settings).unwrap();
    let dataset = preparation.apply(&data, "d", true).unwrap();
    for i in 0..100 {
        let expected = ((i as f64 - 49.5) / 47.5).clamp(-1.0, 1.0);
        assert!((dataset.features[(0, i)] - expected).abs() < 1e-9);
        assert_eq!(dataset.features[(1, i)], 0.0);
    }
    assert_eq!(dataset.clipped, 4);
    let label = (100.0 - 50.5) / (3.0 * (9999.0_f64 / 12.0).sqrt());
    assert!((dataset.target.unwrap()[99] - label).abs() < 1e-12);
    assert!((preparation.label_from_prediction(label) - 100.0).abs() < 1e-9);
}

#[test]
fn a_wide_preparation_keeps_long_tails_unless_a_range_is_declared() {
    let tail = table("size,kind,hr,y\n100,b,0,1e6\n");
    let label = |range: LabelRange| {
        let settings = PreparationSettings { labels: range, ..PreparationSettings::default() };
        let wide = fit(SHOPS, &definition("y"), &settings).wide(range);
        let data = wide.apply(&tail, "d", true).unwrap();
        assert_eq!(data.clipped, 1, "still within bounds: {}", data.bounds.label);
        assert_eq!(data.target, Some(vec![data.bounds.label]));
        data.bounds.label
    };
    assert_eq!(label(LabelRange::Public), 10.0);
    assert_eq!(label(LabelRange::Declared(0.0, 9.0)), 1.0);
}

#[test]
fn evaluation_keeps_labels_in_their_units() {
    let preparation = fit(SHOPS, &definition("y"), &PreparationSettings::default());
    let other = table("size,kind,hr,y\n100,b,0,1e6\n");
    let bounded = preparation.apply(&other, "d", true).unwrap();
    let evaluated = preparation.apply_for_evaluation(&other, "d").unwrap();
    assert_eq!(bounded.target, Some(vec![1.0]));
    assert_eq!(evaluated.target, Some(vec![1e6]));
    assert_eq!(evaluated.bounds.label, f64::INFINITY);
    assert_eq!(evaluated.features, bounded.features);
    assert_eq!(evaluated.clipped, 1);
}

#[test]
fn a_flawed_cell_is_named_with_line_column_and_cure() {
    for (cell, complaint) in [
        ("", "found a missing value"),
        ("NA", "found a missing value"),
        ("nan", "found a missing value"),
        ("?", "found a missing value"),
        ("-inf", "expected a finite number"),
        ("\"1,5\"", "with a decimal point"),
        ("abc", "expected a number, found text"),
    ] {
        let text = format!("a,y\n1,2\n\n{cell},3\nx,4\n");
        let fitted =
            Preparation::fit(&table(&text), &definition("y"), &PreparationSettings::default());
        let for_curator = fitted.unwrap_err().for_curator();
        let quote = format!("found there: '{}'", cell.trim_matches('"'));
        assert!(cell.is_empty() || for_curator.ends_with(&quote), "{for_curator}");
        let error = refusal(&text, &definition("y"));
        assert!(cell.is_empty() || !error.contains(&quote), "{error}");
        assert!(error.starts_with("t.csv:4, column 'a': expected"), "{error}");
        assert!(error.contains(complaint) && error.contains("declare it"), "{error}");
        let mut categorical = definition("y");
        categorical.categories = categories("a", &[]);
        fit(&text, &categorical, &raw());
        let label = refusal(&text, &definition("a"));
        assert!(label.starts_with("t.csv:4, column 'a'"), "{label}");
        assert!(label.contains("another label"), "{label}");

        let preparation = fit("a,y\n1,2\n2,3\n", &definition("y"), &raw());
        let error = preparation.apply(&table(&text), "d", true).unwrap_err().to_string();
        assert!(error.starts_with("t.csv:4, column 'a'"), "{error}");
    }
}

#[test]
fn a_column_whose_flawed_rows_were_filtered_out_is_numeric() {
    let whole = table("a,y\n1,2\nNA,3\n4,5\n");
    let part = whole.select(&[0, 2]).unwrap();
    let preparation = Preparation::fit(&part, &definition("y"), &raw()).unwrap();
    assert_eq!(example(&preparation.apply(&part, "d", true).unwrap(), 1), [4.0]);
}

#[test]
fn impossible_definitions_are_refused_with_a_cure() {
    let all_but = |change: fn(&mut DatasetDefinition)| {
        let mut definition = definition("y");
        change(&mut definition);
        refusal(SHOPS, &definition)
    };
    let none = all_but(|d| d.label = None);
    assert!(none.contains("names no label") && none.contains("size, kind, hr, y"), "{none}");
    let label = all_but(|d| d.label = Some("z".into()));
    assert!(label.contains("no label column 'z'") && label.contains("size, kind"), "{label}");
    let text = all_but(|d| d.label = Some("kind".into()));
    assert!(text.contains("t.csv:2, column 'kind': expected a number, found text"), "{text}");
    let only = all_but(|d| d.columns = Columns::Only(strings(&["sizes"])));
    assert!(only.contains("no column 'sizes'") && only.contains("'size'"), "{only}");
    let except = all_but(|d| d.columns = Columns::Except(strings(&["kin"])));
    assert!(except.contains("did you mean 'kind'"), "{except}");
    let twice = all_but(|d| d.columns = Columns::Only(strings(&["hr", "hr"])));
    assert!(twice.contains("listed twice"), "{twice}");
    let nothing = all_but(|d| d.columns = Columns::Only(strings(&["y"])));
    assert!(nothing.contains("has no feature"), "{nothing}");
    let category = all_but(|d| d.categories = categories("hour", &[]));
    assert!(category.contains("no column 'hour'"), "{category}");
    let label = all_but(|d| d.categories = categories("y", &[]));
    assert!(label.contains("declared as a category"), "{label}");
    let constant = refusal("a,y\n1,0.1\n2,0.1\n3,0.1\n", &definition("y"));
    assert!(constant.contains("is the same in every row"), "{constant}");
}

#[test]
fn impossible_bounds_are_refused() {
    let error = |settings| {
        Preparation::fit(&table(SHOPS), &definition("y"), &settings).unwrap_err().to_string()
    };
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let labels = LabelRange::Declared(low, high);
        assert!(error(PreparationSettings { labels, ..raw() }).contains("label range"));
    }
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let features = FeatureScaling::Declared(norm);
        assert!(error(PreparationSettings { features, ..raw() }).contains("feature norm"));
    }
}

#[test]
fn a_text_column_of_names_is_not_taken_for_a_category_unasked() {
    let rows = (0..=MOST_VALUES).map(|i| format!("n{i},{i}\n")).collect::<Vec<_>>().concat();
    let text = format!("name,y\n{rows}");
    let error = refusal(&text, &definition("y"));
    assert!(error.contains("201 different values") && !error.contains("n0"), "{error}");
    let mut declared = definition("y");
    declared.categories = categories("name", &[]);
    assert_eq!(fit(&text, &declared, &raw()).dimension(), MOST_VALUES + 2);
}

#[test]
fn all_missing_columns_are_named_at_once() {
    let preparation = fit(SHOPS, &definition("y"), &raw());
    let lacking = |text: &str, with_label| {
        preparation.apply(&table(text), "d", with_label).unwrap_err().to_string()
    };
    let error = lacking("sizes,hr,y\n1,2,3\n", true);
    assert!(error.starts_with("t.csv: it lacks the columns 'size', 'kind'\n"), "{error}");
    assert!(error.contains("'size' may be 'sizes'"), "{error}");
    let error = lacking("size,kind,hr\n1,a,3\n", true);
    assert!(error.contains("no label column 'y'") && error.contains("size, kind, hr"), "{error}");
}

#[test]
fn a_damaged_preparation_is_refused() {
    let preparation = fit(SHOPS, &definition("y"), &PreparationSettings::default());
    let text = ron::to_string(&preparation).unwrap();
    let damaged = [
        Preparation { unit: 0.0, ..preparation.clone() },
        Preparation { unit: f64::NAN, ..preparation.clone() },
        Preparation { encodings: vec![], intercept: false, ..preparation.clone() },
        ron::from_str(&text.replace("[\"a\",\"b\"]", "[\"a\"]")).unwrap(),
    ];
    for preparation in damaged {
        let error = preparation.apply(&table(SHOPS), "d", true).unwrap_err();
        assert!(error.to_string().contains("damaged"), "{error}");
    }
}

#[test]
fn bikeshare_is_prepared_with_the_constants_of_the_public_part() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/bikeshare/bikeshare.csv");
    let whole = csv::read(path.as_ref()).ok().unwrap();
    let part = |filter| crate::filter::Filter::parse(filter).unwrap().apply(&whole);
    let public = part("season != 1").ok().unwrap();
    let private = part("season == 1").ok().unwrap();
    let mut definition = definition("bikers");
    definition.columns =
        Columns::Except(strings(&["season", "mnth", "day", "casual", "registered"]));
    definition.categories = categories("hr", &[]);
    let preparation =
        Preparation::fit(&public, &definition, &PreparationSettings::default()).unwrap();
    // 24 hours and 3 weathers (the fourth is a winter's) with their "other"; 7 numbers; 1.
    assert_eq!(preparation.dimension(), 25 + 4 + 7 + 1);
    let prepared = preparation.apply(&private, "winter", true).unwrap();
    assert_eq!(prepared.len(), 2068);
    assert!(prepared.features.column_iter().all(|x| x.norm() <= 1.0));
    let fitted = preparation.apply(&public, "rest", true).unwrap();
    // A twentieth have too large a norm; a few more have a label above 3 deviations.
    let share = fitted.clipped as f64 / fitted.len() as f64;
    assert!((0.05..0.08).contains(&share), "{share}");
}

/// A classification of `y`.
fn classified(classes: &[&str]) -> DatasetDefinition {
    DatasetDefinition { task: Task::Classification, classes: strings(classes), ..definition("y") }
}

fn classes(preparation: &Preparation, text: &str) -> Vec<u32> {
    preparation.apply(&table(text), "d", true).unwrap().classes.unwrap().of
}

#[test]
fn classes_are_those_of_the_public_data_in_a_fixed_order_numbers_and_text_alike() {
    for (labels, names, of) in [
        (["yes", "no", "yes"], ["no", "yes"], [1, 0, 1]),
        (["1", "-1", "1.0"], ["-1", "1"], [1, 0, 1]),
        (["b", "10", "+10"], ["10", "b"], [1, 0, 0]),
    ] {
        let [a, b, c] = labels;
        let text = format!("x,y\n1,{a}\n2,{b}\n3,{c}\n");
        let preparation = fit(&text, &classified(&[]), &PreparationSettings::default());
        assert_eq!(preparation.class_names(), names);
        assert_eq!(preparation.task(), Task::Classification);
        assert_eq!(classes(&preparation, &text), of);
        let evaluated = preparation.apply_for_evaluation(&table(&text), "d").unwrap();
        assert_eq!(evaluated.classes.unwrap().of, of);
        assert_eq!((evaluated.target, evaluated.bounds.label), (None, 1.0));
        let unlabelled = preparation.apply(&table("x\n1\n"), "d", false).unwrap();
        assert_eq!(unlabelled.classes, None);
    }
}

#[test]
fn declared_classes_keep_their_order_and_need_not_all_occur() {
    let public = "x,y\n1,yes\n2,no\n";
    let preparation = fit(public, &classified(&["yes", "maybe", "no"]), &raw());
    assert_eq!(classes(&preparation, public), [0, 2]);
    assert_eq!(classes(&preparation, "x,y\n5,maybe\n"), [1]);
    // A declared class is a class even if its name looks like a missing value.
    let preparation = fit("x,y\n1,none\n2,some\n", &classified(&["some", "none"]), &raw());
    assert_eq!(classes(&preparation, "x,y\n1,none\n1,some\n"), [1, 0]);
}

#[test]
fn an_unknown_class_is_refused_unless_a_rule_says_what_it_counts_as() {
    let preparation = fit("x,y\n1,yes\n2,no\n", &classified(&[]), &raw());
    let other = table("x,y\n1,no\n2,perhaps\n");
    let error = preparation.apply(&other, "d", true).unwrap_err().to_string();
    assert!(error.starts_with("t.csv:3, column 'y': expected a known class"), "{error}");
    assert!(error.contains("the classes are: no, yes"), "{error}");
    let ruled = |class: &str| {
        let unknown_labels = UnknownLabels::CountAs(class.into());
        preparation.under(&DatasetDefinition { unknown_labels, ..classified(&[]) })
    };
    assert_eq!(ruled("yes").apply(&other, "d", true).unwrap().classes.unwrap().of, [0, 1]);
    let error = ruled("perhaps").apply(&other, "d", true).unwrap_err().to_string();
    assert!(error.contains("which is not a class"), "{error}");
    // A missing label is not an unknown class.
    let gap = table("x,y\n1,?\n");
    let error = ruled("yes").apply(&gap, "d", true).unwrap_err().to_string();
    assert!(error.starts_with("t.csv:2, column 'y': expected a class, found a missing"), "{error}");
}

#[test]
fn impossible_classes_are_refused_with_a_cure() {
    let refused = |text: &str, classes: &[&str]| refusal(text, &classified(classes));
    let same = refused("x,y\n1,a\n2,a\n", &[]);
    assert!(same.contains("the label 'y' is the same in every row"), "{same}");
    let gap = refused("x,y\n1,a\n2,b\n3,\n", &[]);
    assert!(gap.starts_with("t.csv:4, column 'y': expected a class"), "{gap}");
    let rows = (0..=MOST_VALUES).map(|i| format!("1,{i}\n")).collect::<Vec<_>>().concat();
    let many = refused(&format!("x,y\n{rows}"), &[]);
    assert!(many.contains("201 different values") && many.contains("regression"), "{many}");
    assert!(refused(SHOPS, &["a"]).contains("only one class"));
    assert!(refused(SHOPS, &["1", "1.0"]).contains("twice"));
    let vectors = Column::Vectors(Vectors::new(2, Values::F32(vec![0.0; 4])).unwrap());
    let numbers = Column::Numbers(vec![1.0, 2.0].into());
    let vectors = Table::of_rows("t.npz", strings(&["x", "y"]), vec![numbers, vectors]);
    let error = class_names(&vectors.ok().unwrap(), &classified(&[])).unwrap_err().to_string();
    assert!(error.contains("expected one value in each row, found vectors of 2"), "{error}");
    let text = refusal("x,y\n1,a\n2,b\n", &definition("y"));
    assert!(text.contains("set `task: classification`"), "{text}");
}

fn with_missing(missing: Missing) -> DatasetDefinition {
    DatasetDefinition { missing, ..definition("y") }
}

const GAPS: &str = "a,b,y\n1,u,1\n?,v,2\n3,,3\n5,u,NA\n9,v,10\n";

#[test]
fn a_public_mean_stands_in_for_missing_numbers_and_never_for_a_label() {
    let public = "a,b,y\n1,u,1\n,v,2\n5,v,3\n";
    let preparation = fit(public, &with_missing(Missing::PublicMean), &raw());
    let filled = preparation.apply(&table(public), "d", true).unwrap();
    assert_eq!(example(&filled, 1), [3.0, 0.0, 1.0, 0.0]);
    // A missing category is one of the other values.
    let private = preparation.apply(&table(GAPS), "d", false).unwrap();
    assert_eq!(example(&private, 1)[0], 3.0);
    assert_eq!(example(&private, 2), [3.0, 0.0, 0.0, 1.0]);
    let error = preparation.apply(&table(GAPS), "d", true).unwrap_err().to_string();
    assert!(
        error.starts_with("t.csv:5, column 'y': expected a number, found a missing"),
        "{error}"
    );
    // Standardised, the mean is 0.
    let settings = PreparationSettings::default();
    let preparation = fit(public, &with_missing(Missing::PublicMean), &settings);
    assert_eq!(preparation.apply(&table(public), "d", true).unwrap().features[(0, 1)], 0.0);
}

#[test]
fn a_dropped_private_record_stays_as_an_empty_one_and_changes_no_other() {
    let public = "a,b,y\n1,u,1\n2,v,2\n5,v,3\n";
    let strict = fit(public, &definition("y"), &PreparationSettings::default());
    assert!(strict.apply(&table(GAPS), "d", true).is_err());
    let lenient = strict.under(&with_missing(Missing::Drop));
    let dataset = lenient.apply(&table(GAPS), "d", true).unwrap();
    let complete = strict.apply(&table("a,b,y\n1,u,1\n9,v,10\n"), "d", true).unwrap();
    assert_eq!(dataset.len(), 5);
    let target = dataset.target.clone().unwrap();
    for (row, expected) in [(0, Some(0)), (1, None), (2, None), (3, None), (4, Some(1))] {
        let empty = vec![0.0; dataset.dimension()];
        let features = expected.map_or(empty, |row| example(&complete, row));
        assert_eq!(example(&dataset, row), features, "{row}");
        let label = expected.map_or(0.0, |row: usize| complete.target.as_ref().unwrap()[row]);
        assert_eq!(target[row], label, "{row}");
    }
    assert_eq!(dataset.clipped, complete.clipped);
    // Without the label its gap does not matter; evaluation leaves gaps out.
    let unlabelled = lenient.apply(&table(GAPS), "d", false).unwrap();
    assert!(example(&unlabelled, 3).iter().any(|&x| x != 0.0));
    let evaluated = lenient.apply_for_evaluation(&table(GAPS), "d").unwrap();
    assert_eq!(evaluated.target, Some(vec![1.0, 10.0]));
}

#[test]
fn where_the_features_differ_a_record_has_both_forms_or_judges_nothing() {
    let text = "a,b,s,y\n1,2,3,1\n2,3,,2\n3,,4,3\n4,5,6,4\n,7,8,5\n";
    let some = |columns: &[&str]| {
        let columns = Columns::Only(strings(columns));
        let definition = DatasetDefinition { columns, ..definition("y") };
        let public = "a,b,s,y\n1,2,3,1\n2,3,1,2\n3,0,4,3\n";
        fit(public, &definition, &PreparationSettings::default())
    };
    let (own, alone) = (some(&["a", "b"]), some(&["b", "s"]).wide(LabelRange::Public));
    let judging = Judging::beside(own.clone(), alone.clone(), LabelRange::Public);
    let kept = judging.private_rows(&table(text), &[0, 1, 2, 3, 4], "d").unwrap();
    // The others lack a feature of one of the two.
    assert_eq!(kept.target, Some(vec![1.0, 4.0]));
    let names = ["a", "b", "(intercept)", "b", "s", "(intercept)"];
    assert_eq!(kept.feature_names, names);
    let complete = table("a,b,s,y\n1,2,3,1\n4,5,6,4\n");
    let public = judging.public(&complete, "d").unwrap();
    for (view, preparation) in [(judging.own(), &own), (judging.alone(), &alone)] {
        let alike = preparation.apply_for_evaluation(&complete, "d").unwrap();
        assert_eq!(view.of(&public.features).doubles(0..2), alike.features);
        let singles = alike.in_singles().features.doubles(0..2);
        assert_eq!(view.of(&kept.features).doubles(0..2), singles);
        let picked = view.of(&kept.features).pick([1].into_iter());
        assert_eq!(picked.doubles(0..1), singles.columns(1, 1).into_owned());
    }
    // A gap is dropped for both, too.
    let mut lenient = definition("y");
    lenient.missing = Missing::Drop;
    let public = judging.under(&lenient).public(&table(text), "d").unwrap();
    assert_eq!(public.target, kept.target);
}

fn cell() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -100.0..100.0_f64,
        1 => Just(0.0),
        1 => prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL,
    ]
}

/// Columns `n`, `m` (numbers), `c` (text), `y`.
fn rows() -> impl Strategy<Value = Vec<(f64, f64, String, f64)>> {
    prop::collection::vec((cell(), cell(), "[a-d]{0,1}", -1e3..1e3_f64), 2..40)
}

fn sheet(rows: &[(f64, f64, String, f64)]) -> Table {
    let columns = vec![
        Column::Numbers(rows.iter().map(|row| row.0).collect()),
        Column::Numbers(rows.iter().map(|row| row.1).collect()),
        Column::Text(rows.iter().map(|row| &row.2).collect()),
        Column::Numbers(rows.iter().map(|row| row.3).collect()),
    ];
    let lines = (2..).take(rows.len()).collect();
    Table::new("t", strings(&["n", "m", "c", "y"]), columns, lines).ok().unwrap()
}

fn settings() -> impl Strategy<Value = PreparationSettings> {
    let features = prop_oneof![
        Just(FeatureScaling::Public),
        (0.01..1e3_f64).prop_map(FeatureScaling::Declared)
    ];
    let labels = prop_oneof![
        Just(LabelRange::Public),
        (-10.0..0.0_f64, 0.1..10.0_f64).prop_map(|(a, b)| LabelRange::Declared(a, b))
    ];
    (features, labels, any::<bool>()).prop_map(|(features, labels, intercept)| {
        PreparationSettings { features, labels, intercept }
    })
}

proptest! {
    #[test]
    fn every_prepared_record_obeys_its_bounds(
        public in rows(), private in rows(), settings in settings()
    ) {
        let preparation = Preparation::fit(&sheet(&public), &definition("y"), &settings).unwrap();
        for rows in [&public, &private] {
            let dataset = preparation.apply(&sheet(rows), "d", true).unwrap();
            let Bounds { feature_norm, label } = dataset.bounds;
            for example in dataset.features.column_iter() {
                prop_assert!(example.iter().all(|x| x.is_finite()));
                prop_assert!(example.norm() <= feature_norm, "{} > {feature_norm}", example.norm());
            }
            prop_assert!(dataset.target.unwrap().iter().all(|y| y.abs() <= label));
        }
    }

    #[test]
    fn a_narrow_record_follows_from_the_wide_one(
        public in rows(), private in rows(), settings in settings()
    ) {
        let own = Preparation::fit(&sheet(&public), &definition("y"), &settings).unwrap();
        let alone = own.wide(settings.labels);
        let judging = Judging::beside(own.clone(), alone.clone(), settings.labels);
        let (private, all) = (sheet(&private), (0..private.len()).collect::<Vec<_>>());
        let kept = judging.private_rows(&private, &all, "d").unwrap();
        let of = |it: &Preparation| it.apply_to_private_rows_for_evaluation(&private, &all, "d");
        prop_assert_eq!(&kept, &of(&alone).unwrap());
        let (wanted, view) = (of(&own).unwrap(), judging.own());
        let (found, norm) = (view.of(&kept.features), own.bounds().feature_norm);
        prop_assert_eq!(found.dimension(), wanted.dimension());
        let both = [found.doubles(0..kept.len()), wanted.features.doubles(0..wanted.len())];
        for (found, wanted) in both[0].column_iter().zip(both[1].column_iter()) {
            prop_assert!(found.norm() <= norm, "{} > {norm}", found.norm());
            prop_assert!((found - wanted).norm() <= 1e-6 * norm, "{found} {wanted}");
        }
    }

    #[test]
    fn a_record_is_prepared_alike_whatever_stands_beside_it(
        public in rows(), private in rows(), at in any::<prop::sample::Index>(), settings in settings()
    ) {
        let preparation = Preparation::fit(&sheet(&public), &definition("y"), &settings).unwrap();
        let row = at.index(private.len());
        let among = preparation.apply(&sheet(&private), "d", true).unwrap();
        let alone = preparation.apply(&sheet(&private[row..=row]), "d", true).unwrap();
        prop_assert_eq!(example(&among, row), example(&alone, 0));
        prop_assert_eq!(among.target.unwrap()[row], alone.target.unwrap()[0]);
    }

    #[test]
    fn public_features_have_mean_0_and_deviation_0_or_1_before_clipping(
        rows in prop::collection::vec((-100.0..100.0_f64, -1e-3..1e-3_f64, "[ab]", -9.0..9.0_f64), 2..40)
    ) {
        let settings = PreparationSettings { intercept: false, ..PreparationSettings::default() };
        let public = sheet(&rows);
        let fitted = Preparation::fit(&public, &definition("y"), &settings).unwrap();
        // So small that nothing is clipped.
        let preparation = Preparation { unit: 1e6, ..fitted };
        let features = preparation.apply(&public, "d", false).unwrap().features * 1e6;
        for feature in features.row_iter() {
            let deviation = (feature.norm_squared() / rows.len() as f64).sqrt();
            prop_assert!(feature.mean().abs() < 1e-9);
            prop_assert!(deviation < 1e-9 || (deviation - 1.0).abs() < 1e-9, "{deviation}");
        }
    }

    #[test]
    fn it_survives_the_model_file_exactly(public in rows(), settings in settings()) {
        let preparation = Preparation::fit(&sheet(&public), &definition("y"), &settings).unwrap();
        let text = ron::to_string(&preparation).unwrap();
        prop_assert_eq!(ron::from_str::<Preparation>(&text).unwrap(), preparation);
    }
}

#[test]
fn rows_prepared_in_parts_are_those_prepared_at_once() {
    let rows = (0..40).map(|i| match i % 7 {
        3 => format!(",b,{i},1\n"),
        k => format!("{i},{},{},{}\n", if k % 2 == 0 { "a" } else { "b" }, i % 3, i % 11),
    });
    let table = table(&format!("size,kind,hr,y\n{}", rows.collect::<String>()));
    let mut lenient = definition("y");
    lenient.missing = Missing::Drop;
    let preparation = fit(SHOPS, &definition("y"), &raw()).under(&lenient);
    let wanted: Vec<usize> = (0..40).filter(|row| row % 5 != 1).collect();
    let some = table.select(&wanted).unwrap();
    let (whole, judged) = (
        preparation.apply(&some, "x", true).unwrap(),
        preparation.apply_for_evaluation(&some, "x"),
    );
    let judged = judged.unwrap();
    for size in [1, 3, 32, 33] {
        let parts = |prepare: &(dyn Fn(&Table) -> Result<Dataset> + Sync)| {
            gather(preparation.dimension(), &table, &wanted, size, prepare, &|_| ()).unwrap()
        };
        let singles = |data: &Dataset| data.clone().in_singles();
        assert_eq!(parts(&|part| preparation.apply(part, "x", true)), singles(&whole), "{size}");
        let found = parts(&|part| preparation.apply_for_evaluation(part, "x"));
        assert_eq!(found, singles(&judged), "{size}");
    }
    let asked = ("x", true);
    let bounds = Bounds { feature_norm: 0.7, label: 0.5 };
    let bounded = preparation.bounded_private_rows(&table, &wanted, asked, bounds).unwrap();
    assert_eq!(bounded, Bounded::within(whole, bounds));
}
