use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

fn table(text: &str) -> Table {
    match read_bytes("t.csv", text.as_bytes()) {
        Ok(table) => table,
        Err(error) => panic!("{error}"),
    }
}

fn refusal(bytes: impl AsRef<[u8]>) -> String {
    read_bytes("t.csv", bytes.as_ref()).err().unwrap().to_string()
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name).ok().unwrap() {
        Column::Numbers(cells) => cells.iter().collect(),
        _ => panic!("not numbers"),
    }
}

fn texts(table: &Table, name: &str) -> Vec<String> {
    match table.column(name).ok().unwrap() {
        Column::Text(cells) => cells.iter().map(Cow::into_owned).collect(),
        _ => panic!("not text"),
    }
}

#[test]
fn columns_are_numbers_when_every_cell_is_one() {
    let table = table("a,b,c\n1, x ,+2e3\n-0.5,y,.5\n");
    assert_eq!(table.names, ["a", "b", "c"]);
    assert_eq!(numbers(&table, "a"), [1.0, -0.5]);
    assert_eq!(texts(&table, "b"), ["x", "y"]);
    assert_eq!(numbers(&table, "c"), [2000.0, 0.5]);
    assert!(table.lines.iter().eq([2, 3]));
    assert_eq!(table.content, table.view);
}

#[test]
fn one_cell_that_is_no_finite_number_keeps_the_whole_column_as_it_stands() {
    for odd in ["inf", "1e999", "-1,5", "x"] {
        let table = table(&format!("a,b,c\n1,01,7\n2,?,8\n3,\"{odd}\",9\n4,2,x\n"));
        assert_eq!(texts(&table, "b"), ["01", "?", odd, "2"]);
        assert_eq!(texts(&table, "c"), ["7", "8", "9", "x"]);
        assert_eq!(numbers(&table, "a"), [1.0, 2.0, 3.0, 4.0]);
    }
}

/// `rows` rows of several blocks, with something else in some of them.
fn long(rows: usize, other: impl Fn(usize) -> Option<&'static str>) -> String {
    let row = |at: usize| match other(at) {
        Some(text) => format!("{text}\n"),
        None => format!("0{at},{},1\n", if at.is_multiple_of(3) { "NA" } else { "2.50" }),
    };
    "a,b,c\n".to_owned() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn a_column_that_turns_into_text_in_a_late_block_stands_as_it_was_written() {
    let rows = 4 * records::BLOCK / 12;
    for late in [rows / 2, rows - 1] {
        let table = table(&long(rows, |at| (at == late).then_some("x,y,1")));
        assert_eq!(table.rows(), rows);
        let (a, b) = (texts(&table, "a"), texts(&table, "b"));
        for at in (0..rows).filter(|at| *at != late) {
            assert_eq!(a[at], format!("0{at}"));
            assert_eq!(b[at], if at.is_multiple_of(3) { "NA" } else { "2.50" });
        }
        assert_eq!((a[late].as_str(), b[late].as_str()), ("x", "y"));
        assert!(numbers(&table, "c").iter().all(|&one| one == 1.0));
        let known = InOrder::of(&table.names, &table.columns);
        assert_eq!((table.content, table.order), (known.rows, known.order));
        assert!(table.lines.iter().zip(2..).all(|(line, expected)| line == expected));
    }
}

#[test]
fn of_several_flaws_in_a_long_file_the_first_is_told() {
    let rows = 4 * records::BLOCK / 12;
    let flaws = [rows / 3, rows / 3 + 1, rows - 5];
    let text = long(rows, |at| flaws.contains(&at).then_some("1,2"));
    for _ in 0..5 {
        let told = refusal(&text);
        assert!(told.starts_with(&format!("t.csv:{}: ", rows / 3 + 2)), "{told}");
    }
}

#[test]
fn missing_numbers_leave_a_gap_and_missing_text_stays() {
    for gap in ["", "NA", "NaN", "?", "null", "N/A", "."] {
        let table = table(&format!("a,b,c\n{gap},1,u\n2,{gap},{gap}\n"));
        assert!(numbers(&table, "a")[0].is_nan() && numbers(&table, "b")[1].is_nan(), "{gap}");
        assert_eq!(texts(&table, "c"), ["u", gap]);
    }
}

#[test]
fn a_file_without_a_header_takes_its_names_from_the_session() {
    let read = |text: &str, names: &[&str], delimiter| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let mut nobody = Unwatched;
        let input = Input::of_bytes("t.csv", text.as_bytes(), &mut nobody)?;
        read_input(&input, &Dialect { delimiter, names, ..Dialect::default() })
    };
    let uci = "|1x3 Cross validator\n25, Private, <=50K.\n38, ?, >50K.\n\n";
    let table = read(uci, &["age", "work", "income"], None).ok().unwrap();
    assert_eq!(numbers(&table, "age"), [25.0, 38.0]);
    assert_eq!(texts(&table, "work"), ["Private", "?"]);
    assert!(table.lines.iter().eq([2, 3]));
    let error = read(uci, &["age"], None).err().unwrap().to_string();
    assert!(error.starts_with("t.csv:2: this row has 3 cells, there are 1 column names"));
    let table = read("1!2\n", &["a", "b"], Some('!')).ok().unwrap();
    assert_eq!(numbers(&table, "b"), [2.0]);
    let error = refusal("25, 0, x, 0\n38, 0, y, 0\n");
    assert!(error.contains("columns 2 and 4") && error.contains("delimited(file"), "{error}");
}

#[test]
fn the_delimiter_is_found_from_the_header() {
    for text in
        ["a;b\n1;x,y\n", "a\tb\n1\tx,y\n", "a,b\n1,\"x,y\"\n", "\"a\";\"b\"\n1;x,y", "a|b\n1|x,y"]
    {
        assert_eq!(texts(&table(text), "b"), ["x,y"], "{text:?}");
    }
    assert_eq!(table("\"a,1;;\",\"b\"\n1,2\n").names, ["a,1;;", "b"]);
    assert_eq!(numbers(&table("a\n1\n2"), "a"), [1.0, 2.0]);
}

#[test]
fn unreadable_records_and_late_text_do_not_disturb_each_other() {
    let reading = |text: &str| {
        let mut progress = Unwatched;
        let mut input = Input::of_bytes("t.csv", text.as_bytes(), &mut progress).unwrap();
        input.forgiving = true;
        read_input(&input, &Dialect::default()).unwrap()
    };
    // In each pair of rows, one has a text and one, perhaps the same, has too many cells.
    for (word, broken) in (0..6).flat_map(|word| (0..6).map(move |broken| (word, broken))) {
        let cell = |row: usize| if row == word { "x".to_owned() } else { row.to_string() };
        let line = |row: usize| {
            let more = if row == broken { ",9" } else { "" };
            format!("{},{},{}{more}\n", cell(row), 2 * row, cell(row))
        };
        let table = reading(&format!("a,b,c\n{}", (0..6).map(line).collect::<String>()));
        let whole = |row: usize| if row == broken { String::new() } else { cell(row) };
        let expected: Vec<String> = (0..6).map(whole).collect();
        assert_eq!(texts(&table, "a"), expected, "{word} {broken}");
        assert_eq!(texts(&table, "c"), expected, "{word} {broken}");
        let b = numbers(&table, "b");
        assert_eq!(b.iter().position(|x| x.is_nan()), Some(broken));
        assert_eq!((b.len(), table.rows()), (6, 6));
    }
}

#[test]
fn byte_order_mark_carriage_returns_and_blank_lines_change_nothing() {
    let plain = table("a,b\n1,\"p\nq\"\n2,r\n");
    assert!(plain.lines.iter().eq([2, 4]));
    let marked = table("\u{feff}a,b\r\n1,\"p\nq\"\r\n2,r\r\n");
    assert!(marked == plain);
    let blank = table("\r\na,b\r\n\r\n1,\"p\nq\"\r\n\n\n2,r");
    assert!(blank.lines.iter().eq([4, 8]));
    assert_eq!(blank.view, plain.view);
    assert!(table("a\r1\r2\r").lines.iter().eq([2, 3]));
}

#[test]
fn ragged_rows_are_named_with_their_line() {
    let short = refusal("a,b,c\r\n1,2,3\r\n\r\n4,5\r\n");
    assert!(short.starts_with("t.csv:4: this row has 2 cells, the header has 3 cells"), "{short}");
    assert!(short.contains("a comma must be in double quotes"), "{short}");
    assert!(refusal("a;b\n1;2\n3;4;\n").starts_with("t.csv:3: this row has 3 cells"));
}

#[test]
fn headers_need_distinct_names() {
    assert!(refusal("a,b,a,b\n1,2,3,4\n").contains("columns 1 and 3 have the same name"));
    assert!(refusal("a,,c\n1,2,3\n").starts_with("t.csv:1: column 2 has no name"));
    let rows = table("\"\",a\n1,2\n2,5\n");
    assert_eq!((rows.names.join(","), numbers(&rows, "row")), ("row,a".to_owned(), vec![1.0, 2.0]));
    assert!(refusal(",row\n1,2\n").starts_with("t.csv:1: column 1 has no name"));
    assert!(refusal("\n3.5,7\n1,2\n").starts_with("t.csv:2: expected column names"));
    assert_eq!(numbers(&table("0,1\n5,6\n"), "1"), [6.0]);
}

#[test]
fn a_first_record_is_not_taken_for_the_header_of_a_private_file() {
    let read = |text: &str, forgiving: bool, names: &[&str]| {
        let mut unwatched = Unwatched;
        let mut input = Input::of_bytes("t.csv", text.as_bytes(), &mut unwatched).unwrap();
        input.forgiving = forgiving;
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        read_input(&input, &Dialect { names, ..Dialect::default() })
    };
    let words = "miller,hiv,high\nsmith,flu,low\njones,hiv,high\nbrown,hiv,low\n";
    let refused = read(words, true, &[]).err().unwrap();
    let text = refused.to_string();
    assert!(text.contains("column 2 has values that are the same as its name"), "{text}");
    assert!(text.contains("names: […]") && !text.contains("hiv"), "{text}");
    assert!(refused.for_curator().contains("'hiv'"));
    assert_eq!(read(words, true, &["name", "illness", "risk"]).unwrap().rows(), 4);
    assert_eq!(read(words, false, &[]).unwrap().rows(), 3);
    let ages = "miller,31\nsmith,40\njones,31\nbrown,31\n";
    assert!(read(ages, true, &[]).is_err());
    // One cell alone decides nothing, and numbered columns have names.
    for text in [
        "name,illness\nsmith,flu\nname,illness\njones,flu\n",
        "0,1\n1,1\n0,1\n0,1\n",
        "age,dose\n31,2\n31,2\n",
    ] {
        assert!(read(text, true, &[]).is_ok(), "{text}");
    }
}

#[test]
fn files_without_rows_are_refused() {
    for empty in ["", "\u{feff}", "\r\n\n", "  "] {
        assert!(refusal(empty).contains("the file is empty"), "{empty:?}");
    }
    assert!(refusal("a,b\r\n\r\n").contains("a header but no rows"));
}

#[test]
fn what_is_no_text_is_refused() {
    assert!(refusal(b"\xff\xfea\0").contains("UTF-16"));
    assert!(refusal(b"a,b\r\n1,\0\n").starts_with("t.csv:2: a NUL byte"));
    assert!(refusal(b"a,b\n1,2\n3,caf\xe9\n").starts_with("t.csv:3: the text is not UTF-8"));
}

#[test]
fn a_quote_that_closes_some_lines_further_down_is_said() {
    let found = table("a,b\n1,x\n2,\"y\n3,z\"\n4,x\n");
    assert_eq!(found.rows(), 3);
    let [said] = &found.remarks[..] else { panic!("{:?}", found.remarks) };
    assert!(
        said.starts_with("a text of 'b' goes over several lines, the first in t.csv:3"),
        "{said}"
    );
    assert!(table("a,b\n1,x\n2,\"y, z\"\n").remarks.is_empty());
}

#[test]
fn a_quote_that_never_closes_swallows_no_rows() {
    assert!(refusal("a,b\n1,x\n2,\"y\n3,z\n").starts_with("t.csv:3: a quote"));
    assert!(refusal("a,b\n1,\"x\"\"\n").contains("never closed"));
    assert!(refusal("\"a,b\n1,2\n").contains("never closed"));
    let inches = table("a,b\n1,\"5\"\"\"\n2,5\"\n");
    assert_eq!(texts(&inches, "b"), ["5\"", "5\""]);
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |path: &Path| read(path).err().unwrap().to_string();
    let missing = refusal(&folder.path().join("none.csv"));
    assert!(missing.contains("none.csv") && missing.contains("check the path"), "{missing}");
    assert!(refusal(folder.path()).contains("a directory"));
    assert!(refusal(Path::new("/dev/null")).contains("not a regular file"));
}

#[test]
fn bikeshare_reads_as_described() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/bikeshare/bikeshare.csv");
    let table = read(&path).ok().unwrap();
    assert_eq!((table.rows(), table.names.len()), (8645, 15));
    let text: Vec<_> = table
        .names
        .iter()
        .zip(&table.columns)
        .filter(|(_, column)| matches!(column, Column::Text(_)))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(text, ["mnth", "weathersit"]);
    assert_eq!(table.lines.at(8644), 8646);
    assert_eq!(table.duplicated_rows(), 0);
    // Made with Python's csv and hashlib.
    assert_eq!(
        table.content.to_string(),
        "sha256-sum:41989b01a4b07f177c3b0fd5b7d513536a31dd3a8fb26054c8c4337ab3bdbc89:8645"
    );
}

proptest! {
    #[test]
    fn any_bytes_give_a_table_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(table) = read_bytes("t", &bytes) {
            prop_assert!(table.rows() > 0);
        }
    }

    #[test]
    fn any_text_near_a_table_gives_a_table_or_an_error(text in "[ab1,;\"\r\n]{0,60}") {
        if let Ok(table) = read_bytes("t", text.as_bytes()) {
            let all = text.split(['\n', '\r']).count() as u64;
            prop_assert!(table.lines.iter().is_sorted());
            prop_assert!(table.lines.iter().all(|line| line <= all));
            prop_assert!(table.columns.iter().all(|column| column.len() == table.rows()));
        }
    }

    #[test]
    fn what_a_csv_writer_writes_is_read_back(
        rows in prop::collection::vec(("[a-z ,;\"\n\r]{0,8}x", any::<f64>()), 1..20)
    ) {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        writer.write_record(["text", "number"]).unwrap();
        let rows: Vec<_> = rows.into_iter().filter(|(_, number)| number.is_finite()).collect();
        prop_assume!(!rows.is_empty());
        for (text, number) in &rows {
            writer.write_record([text, &number.to_string()]).unwrap();
        }
        let table = read_bytes("t", &writer.into_inner().unwrap()).ok().unwrap();
        let expected: Vec<_> = rows.iter().map(|(text, _)| text.trim().to_owned()).collect();
        prop_assert_eq!(texts(&table, "text"), expected);
        let expected: Vec<_> = rows.iter().map(|(_, number)| *number).collect();
        prop_assert_eq!(numbers(&table, "number"), expected);
    }
}

/// The cells are counted once, also where several threads read and where a column turns into text.
#[test]
fn what_the_user_declares_missing_is_counted_by_column_and_a_text_that_is_nowhere_is_told() {
    let read = |text: &str, missing: &[&str], forgiving: bool| {
        let mut unwatched = Unwatched;
        let mut input = Input::of_bytes("clinics/t.csv", text.as_bytes(), &mut unwatched).unwrap();
        input.forgiving = forgiving;
        let missing = missing.iter().map(|text| (*text).to_owned()).collect();
        read_input(&input, &Dialect { missing, ..Dialect::default() }).unwrap().remarks
    };
    let rows = 200_000;
    let row = |at: usize| match at {
        7 => "0,unclear,1\n".to_owned(),
        _ => format!("{},{},1\n", at % 4, 1 + at % 3),
    };
    let text = "chol,age,y\n".to_owned() + &(0..rows).map(row).collect::<String>();
    let zeros = (0..rows).filter(|at| *at == 7 || at % 4 == 0).count();
    let told = read(&text, &["0", "chl=0", "unclear", "0"], false);
    let expected = [
        format!("t.csv: '0' is read as missing: {zeros} cells, {zeros} of 'chol'"),
        "t.csv: no cell is 'chl=0', which is to be read as missing: it must stand there exactly \
         so, and alone; COLUMN=TEXT is meant for one column"
            .to_owned(),
        "t.csv: 'unclear' is read as missing: 1 cell, 1 of 'age'".to_owned(),
    ];
    assert_eq!(told, expected);
    // In one column alone, whatever stands in the others.
    let told = read("chol,sex\n0,0\n0,1\n180,0\n", &["chol=0", "sex=9"], false);
    assert_eq!(told[0], "t.csv: 'chol=0' is read as missing: 2 cells, 2 of 'chol'");
    assert!(told[1].contains("no cell is 'sex=9'"), "{told:?}");
    let wide =
        format!("{}\n{}\n", ["a", "b", "c", "d", "e", "f", "g"].join(","), ["0"; 7].join(","));
    assert!(read(&wide, &["0"], false)[0].ends_with(
        "7 cells, 1 of 'a', 1 of 'b', 1 of 'c', 1 of 'd', 1 of 'e', 1 of 'f', … (7 columns)"
    ));
    assert!(read(&text, &[], false).is_empty());
    assert!(read(&text, &["0"], true).is_empty(), "of a private file nothing is counted");
}
