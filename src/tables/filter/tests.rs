use proptest::prelude::*;

use super::*;
use crate::csv;

const PEOPLE: &str = "sex,age,blood group,height,2nd\n\
    F,30,A,1.6,1\nM,41,B,NA,2\nF,29,0,1.7,3\nM,30,'x,1.8,4\n";

fn people() -> Table {
    csv::read_bytes("people.csv", PEOPLE.as_bytes()).ok().unwrap()
}

fn lines(filter: &str) -> Vec<u64> {
    match Filter::parse(filter).and_then(|filter| filter.apply(&people())) {
        Ok(table) => table.lines.iter().collect(),
        Err(error) => panic!("{filter}: {error}"),
    }
}

fn refusal(filter: &str) -> String {
    match Filter::parse(filter).and_then(|filter| filter.apply(&people())) {
        Ok(_) => panic!("{filter} was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_operator_compares_numbers_and_text() {
    for (filter, expected) in [
        ("age == 30", vec![2, 5]),
        ("age != 30", vec![3, 4]),
        ("age < 30", vec![4]),
        ("age <= 3e1", vec![2, 4, 5]),
        ("age>30.0", vec![3]),
        ("age >= +30", vec![2, 3, 5]),
        ("age > -1", vec![2, 3, 4, 5]),
        ("sex == \"F\"", vec![2, 4]),
        ("sex != 'F'", vec![3, 5]),
        ("sex < 'G'", vec![2, 4]),
    ] {
        assert_eq!(lines(filter), expected, "{filter}");
    }
}

#[test]
fn not_binds_closer_than_and_and_and_closer_than_or() {
    assert_eq!(lines("sex == 'F' or sex == 'M' and age > 40"), [2, 3, 4]);
    assert_eq!(lines("(sex == 'F' or sex == 'M') and age > 40"), [3]);
    assert_eq!(lines("not sex == 'F' and age > 40"), [3]);
    assert_eq!(lines("not (sex == 'F' and age == 30)"), [3, 4, 5]);
    assert_eq!(lines("not not age == 29 OR age == 41"), [3, 4]);
}

#[test]
fn unusual_names_and_texts_can_be_written() {
    assert_eq!(lines("`blood group` == 'A'"), [2]);
    assert_eq!(lines("`blood group` == '''x'"), [5]);
    assert_eq!(lines("`blood group` == \"'x\""), [5]);
    assert_eq!(lines("2nd >= 4"), [5]);
}

#[test]
fn mistakes_are_named_with_their_character() {
    for (filter, at, part) in [
        ("", 1, "expected a column name, found the end"),
        ("age = 30", 5, "write =="),
        ("age == ", 8, "expected a number or a text, found the end"),
        ("sex == F", 8, "put text in quotes: \"F\""),
        ("sex == 'F", 8, "never closed"),
        ("blood group == 'A'", 7, "expected a comparison, found 'group'"),
        ("age > 3 4", 9, "expected 'and', 'or' or the end, found the number 4"),
        ("20 < age", 1, "expected a column name, found the number 20"),
        ("20 < age < 40", 1, "expected a column name"),
        ("age > 20 < 40", 10, "found '<'"),
        ("(age > 20", 10, "close the parenthesis of character 1"),
        ("age > 20)", 9, "found ')'"),
        ("age > 20 && sex == 'F'", 10, "write and"),
        ("age > 20 and", 13, "expected a column name, found the end"),
        ("age > 20 or and", 13, "expected a column name, found 'and'"),
        ("age <> 20", 5, "write !="),
        ("!age == 20", 1, "write not"),
        ("age == 1e999", 8, "not a finite number"),
        ("é == 'ü' ü", 10, "found 'ü'"),
        ("age % 3", 5, "unexpected '%'"),
        ("age in 3", 8, "write the values in brackets"),
        ("age in [3", 10, "close the bracket of character 8"),
        ("age in []", 9, "expected a number or a text, found ']'"),
        ("age in [3,]", 11, "expected a number or a text"),
        ("age in [3 4]", 11, "expected ',' or ']', found the number 4"),
        ("age in [old]", 9, "put text in quotes: \"old\""),
        ("age not 3", 9, "expected 'in', found the number 3"),
        ("age is 3", 8, "to compare, write =="),
        ("age is not", 11, "age is not missing"),
        ("age is missing missing", 16, "found 'missing'"),
    ] {
        let error = Filter::parse(filter).unwrap_err().to_string();

        assert!(error.starts_with(&format!("filter, character {at}: ")), "{filter}: {error}");
        assert!(error.contains(part), "{filter}: {error}");
    }
}

#[test]
fn membership_and_gaps_can_be_asked_for() {
    for (filter, expected) in [
        ("age in [29, 41]", vec![3, 4]),
        ("age not in [29, 41]", vec![2, 5]),
        ("not age in [29, 41] and sex IN ['F']", vec![2]),
        ("sex in ['F', 'X']", vec![2, 4]),
        ("height is missing", vec![3]),
        ("height is not missing", vec![2, 4, 5]),
        ("`blood group` is missing", vec![]),
    ] {
        match expected.as_slice() {
            [] => assert!(refusal(filter).contains("selects no row"), "{filter}"),
            expected => assert_eq!(lines(filter), expected, "{filter}"),
        }
    }
}

#[test]
fn no_comparison_with_a_missing_number_holds_and_no_negation_of_one() {
    assert_eq!(lines("height > 1.65"), [4, 5]);
    assert_eq!(lines("not height > 1.65"), [2]);
    assert_eq!(lines("height != 1.6"), [4, 5]);
    assert_eq!(lines("height not in [1.6]"), [4, 5]);
    // The known part of a row decides where it can.
    assert_eq!(lines("height > 1.65 or age == 41"), [3, 4, 5]);
    assert_eq!(lines("not (height > 1.65 and age == 30)"), [2, 3, 4]);
    assert_eq!(lines("height > 1.65 or height is missing"), [3, 4, 5]);
}

#[test]
fn unknown_columns_and_mixed_types_are_refused_with_a_cure() {
    for (filter, at, part) in [
        ("age > 1 or agee == 1", 12, "people.csv has no column 'agee'"),
        ("agee == 1", 1, "did you mean 'age'?"),
        ("age == '30'", 8, "write age == 30"),
        ("age == 'old'", 8, "compare it with a number"),
        ("sex == 1", 8, "write sex == \"1\""),
        ("`blood group` != 0", 18, "people.csv:2 is not a number"),
        ("`2nd` == '4'", 10, "write 2nd == 4"),
        ("age in [29, 'x']", 13, "compare it with a number"),
        ("agee is missing", 1, "did you mean 'age'?"),
    ] {
        let error = refusal(filter);
        assert!(error.starts_with(&format!("filter, character {at}: ")), "{filter}: {error}");
        assert!(error.contains(part), "{filter}: {error}");
    }
}

#[test]
fn a_filter_that_selects_nothing_is_refused() {
    let error = refusal("age == 9");
    assert!(error.starts_with("the filter 'age == 9' selects no row of people.csv"), "{error}");
}

#[test]
fn deep_nesting_is_refused_and_long_chains_are_not() {
    for deep in ["(".repeat(100_000), "not ".repeat(100_000)] {
        assert!(Filter::parse(&deep).unwrap_err().to_string().contains("simpler filter"));
    }
    let long = vec!["age != 30"; 10_000].join(" and ");
    assert_eq!(lines(&long), [3, 4]);
}

#[test]
fn the_selected_rows_have_a_fingerprint_of_their_own_tied_to_the_file() {
    let whole = people();
    let women = Filter::parse("sex == 'F'").unwrap().apply(&whole).ok().unwrap();
    let men = Filter::parse("not sex == 'F'").unwrap().apply(&whole).ok().unwrap();
    assert_eq!(women.content, whole.content);
    assert_eq!(women.view.rows, 2);
    assert_eq!(women.view.plus(men.view), whole.view);
}

#[test]
fn bikeshare_splits_into_winter_and_the_rest() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/bikeshare/bikeshare.csv");
    let table = csv::read(path.as_ref()).ok().unwrap();
    let rows = |filter| Filter::parse(filter).unwrap().apply(&table).ok().unwrap().rows();
    assert_eq!(rows("season == 1"), 2068);
    assert_eq!(rows("season != 1"), 6577);
    assert_eq!(rows("weathersit == 'heavy rain/snow'"), 1);
}

/// The text of a condition on `people()`, and its result for each row: 1 true, 0 false, ½ unknown.
fn said() -> impl Strategy<Value = (String, [f64; 4])> {
    let ages = [30.0, 41.0, 29.0, 30.0];
    let heights = [1.6, f64::NAN, 1.7, 1.8];
    let compared = move |column: &'static str, cells: [f64; 4]| {
        (0..6_usize, 0..4_usize).prop_map(move |(operator, row)| {
            let value = if cells[row].is_nan() { 1.75 } else { cells[row] };
            let symbol = ["==", "!=", "<", "<=", ">", ">="][operator];
            let says = cells.map(|cell| match cell.partial_cmp(&value) {
                None => 0.5,
                Some(order) => f64::from(
                    [
                        order.is_eq(),
                        order.is_ne(),
                        order.is_lt(),
                        order.is_le(),
                        order.is_gt(),
                        order.is_ge(),
                    ][operator],
                ),
            });
            (format!("{column} {symbol} {value}"), says)
        })
    };
    let leaf = prop_oneof![
        compared("age", ages),
        compared("`height`", heights),
        Just(("height is missing".to_owned(), [0.0, 1.0, 0.0, 0.0])),
        Just(("height is not missing".to_owned(), [1.0, 0.0, 1.0, 1.0])),
        Just(("sex in [\"F\", 'D']".to_owned(), [1.0, 0.0, 1.0, 0.0])),
        Just(("age not in [30, 4e1]".to_owned(), [0.0, 1.0, 1.0, 0.0])),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let joined = |word: &'static str, join: fn(f64, f64) -> f64| {
            (inner.clone(), inner.clone()).prop_map(move |((a, x), (b, y))| {
                (format!("({a}) {word} ({b})"), std::array::from_fn(|row| join(x[row], y[row])))
            })
        };
        prop_oneof![
            joined("and", f64::min),
            joined("or", f64::max),
            inner.clone().prop_map(|(a, x)| (format!("not ({a})"), x.map(|x| 1.0 - x))),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_stumble(text in "([a1.'\"`()=<>!+e é,-]|\\[|\\]|in |is |not |missing){0,30}") {
        if let Ok(filter) = Filter::parse(&text) {
            prop_assert_eq!(&Filter::parse(&filter.to_string()).unwrap().to_string(), &filter.to_string());
        }
    }

    #[test]
    fn a_condition_and_its_negation_part_the_rows(age in 25_i32..45, height in prop::bool::ANY) {
        let join = if height { "and sex == 'F'" } else { "or sex == 'F'" };
        let rows = |filter: &str| {
            Filter::parse(filter).unwrap().apply(&people()).map_or(0, |table| table.rows())
        };
        let filter = format!("age >= {age} {join}");
        prop_assert_eq!(rows(&filter) + rows(&format!("not ({filter})")), 4);
    }

    #[test]
    fn a_written_condition_selects_what_it_says((text, says) in said()) {
        let filter = Filter::parse(&text).unwrap();
        let selected = filter.apply(&people()).map_or(vec![], |table| table.lines.iter().collect());
        let expected: Vec<u64> = (2..6).filter(|&line| says[line as usize - 2] == 1.0).collect();
        prop_assert_eq!(selected, expected, "{}", text);
    }
}
