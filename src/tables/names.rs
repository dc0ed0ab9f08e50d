//! Similar names, for helpful error messages.

use strsim::osa_distance;

use super::column::finite;

/// How many names a message lists before it says "and … more".
const LISTED: usize = 12;

/// The most letters of a name that are shown.
const LONGEST: usize = 64;

/// The part of the name that fits into a line.
pub fn shortened(name: &str) -> std::borrow::Cow<'_, str> {
    match name.char_indices().nth(LONGEST) {
        None => name.into(),
        Some((end, _)) => format!("{}…", &name[..end]).into(),
    }
}

/// A hint about what `wanted` may have meant: the nearest of the `known` names, or otherwise all of
/// them. `kind` is the word for them, such as "columns".
pub fn hint(kind: &str, wanted: &str, known: &[String]) -> String {
    let near = nearest(wanted, known);
    if near.is_empty() || (kind == COLUMNS && seem_a_record(known)) {
        list(kind, known)
    } else {
        format!("did you mean {}?", quoted(&near))
    }
}

/// A hint about what `wanted` may have meant, for the program's own names and those of a session:
/// the nearest of the `known` names, or otherwise all of them after `introduction`.
pub fn hint_or_all<S: AsRef<str>>(wanted: &str, known: &[S], introduction: &str) -> String {
    let near = nearest(wanted, known);
    if near.is_empty() {
        let all: Vec<_> = known.iter().map(AsRef::as_ref).collect();
        format!("{introduction}: {}", all.join(", "))
    } else {
        format!("did you mean {}?", quoted(&near))
    }
}

const COLUMNS: &str = "columns";

/// Whether names of columns are probably the first record of a file without a header. Then they are
/// as confidential as any other record.
pub fn seem_a_record(names: &[String]) -> bool {
    let numbers: Vec<f64> = names.iter().filter_map(|name| finite(name)).collect();
    // Some programs number nameless columns.
    let counts = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
        && numbers.first().is_some_and(|first| [0.0, 1.0].contains(first));
    !numbers.is_empty() && !counts
}

/// "the columns are: a, b, c".
pub fn list(kind: &str, known: &[String]) -> String {
    if kind == COLUMNS && seem_a_record(known) {
        return format!(
            "there are {} columns, some with numbers for names: if the file has no header line, \
             name its columns: delimited(file: …, names: […])",
            known.len()
        );
    }
    let shown =
        known.iter().take(LISTED).map(|name| shortened(name)).collect::<Vec<_>>().join(", ");
    match known.len().saturating_sub(LISTED) {
        0 => format!("the {kind} are: {shown}"),
        more => format!("the {kind} are: {shown} and {more} more"),
    }
}

/// "'a', 'b'".
pub fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    names
        .iter()
        .map(|name| format!("'{}'", shortened(name.as_ref())))
        .collect::<Vec<_>>()
        .join(", ")
}

/// "'a', 'b' and 98 more": the first few.
pub fn some<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 8;
    let more = names.len().saturating_sub(SHOWN);
    let shown = quoted(&names[..names.len() - more]);
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// At most three names that a typing error may have turned into `wanted`, best first.
pub fn nearest<'a, S: AsRef<str>>(wanted: &str, known: &'a [S]) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let tolerated = (wanted.chars().count() / 3).max(1);
    let mut near: Vec<_> = known
        .iter()
        .map(AsRef::as_ref)
        .map(|name| (osa_distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= tolerated)
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Whether a name in a definition stands for several: `*` for any letters, `?` for one. A column
/// whose name contains these letters is matched by its exact name.
pub fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Whether `name` matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut read) = (0, 0);
    // The position of the last star, and how far the name was read for it.
    let mut star = None;
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&letter) if letter == '?' || letter == name[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                // The star takes one letter more.
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, read) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|&letter| letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_typing_error_finds_its_name_and_nonsense_gets_the_list() {
        let known = names(&["season", "temp", "atemp"]);
        assert_eq!(hint("columns", "Seasn", &known), "did you mean 'season'?");
        assert_eq!(hint("columns", "tmep", &known), "did you mean 'temp'?");
        assert_eq!(nearest("temp", &known), ["temp", "atemp"]);
        assert_eq!(hint("columns", "blood", &known), "the columns are: season, temp, atemp");
        assert_eq!(hint_or_all("tepm", &known, "choose one of"), "did you mean 'temp'?");
        assert_eq!(hint_or_all("colour", &["a", "b"], "choose one of"), "choose one of: a, b");
    }

    #[test]
    fn the_first_record_of_a_file_without_a_header_is_not_told() {
        for record in [&["alice", "63.5", "HIV"][..], &["1", "2", "9"], &["7"]] {
            let known = names(record);
            for text in [list("columns", &known), hint("columns", "HIVs", &known)] {
                assert!(text.starts_with(&format!("there are {} columns", known.len())), "{text}");
                assert!(record.iter().all(|cell| !text.contains(cell) || cell.len() == 1));
            }
        }
        for header in [&["a", "b"][..], &["0", "1", "2"], &["1", "2", "label"]] {
            assert!(!seem_a_record(&names(header)), "{header:?}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let known: Vec<String> = (0..400).map(|i| format!("column{i}")).collect();
        assert!(list("columns", &known).ends_with("column11 and 388 more"));
        assert!(some(&known).ends_with("'column7' and 392 more"));
        assert_eq!(some(&known[..2]), "'column0', 'column1'");
    }
}
