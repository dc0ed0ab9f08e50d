//! The cells of a chart, one by one.

use proptest::prelude::*;
use ratatui::buffer::Cell;
use ratatui::style::Color;

use super::*;
use crate::smoothing::PlotPoint;

fn steps(count: usize, f: impl Fn(f64) -> f64) -> Vec<PlotPoint> {
    (0..count).map(|i| (i as f64, f(i as f64))).collect()
}

fn view<'a>(name: &'a str, points: &'a [PlotPoint]) -> SeriesView<'a> {
    SeriesView {
        name,
        style: Style::new(),
        curator: false,
        points: points.into(),
        range: None,
        slot: 0,
    }
}

fn second<'a>(name: &'a str, points: &'a [PlotPoint]) -> SeriesView<'a> {
    SeriesView { slot: 1, ..view(name, points) }
}

fn drawn(chart: &Chart<'_>, columns: u16, rows: u16) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    chart.render(buffer.area, &mut buffer);
    buffer
}

/// The picture with a border, so that blanks at its ends are visible.
fn picture(chart: &Chart<'_>, columns: u16, rows: u16) -> String {
    let buffer = drawn(chart, columns, rows);
    let mut lines = vec![];
    for row in buffer.content.chunks(usize::from(columns)) {
        let line: String = row.iter().map(Cell::symbol).collect();
        lines.push(format!("|{line}|"));
    }
    lines.join("\n")
}

fn loss() -> Vec<PlotPoint> {
    steps(200, |x| 0.4 * (-x / 30.0).exp() + 0.02)
}

fn exact_loss() -> Vec<PlotPoint> {
    steps(200, |x| 0.35 * (-x / 40.0).exp() + 0.01 * (x / 3.0).sin() + 0.03)
}

#[test]
fn two_curves_end_in_their_markers_and_private_numbers_carry_theirs() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let (loss, exact) = (loss(), exact_loss());
    let chart = Chart::new("loss", &theme, &glyphs)
        .series(view("objective", &loss))
        .series(SeriesView { curator: true, ..second("exact", &exact) });
    insta::assert_snapshot!("two_curves", picture(&chart, 60, 14));
    insta::assert_snapshot!("two_curves_narrow", picture(&chart, 30, 8));
    let window = chart.clone().window(Some((20.0, 30.0)));
    insta::assert_snapshot!("two_curves_zoomed", picture(&window, 60, 12));
    let cursor = chart.cursor(Some(50.3));
    insta::assert_snapshot!("two_curves_with_cursor", picture(&cursor, 60, 12));
}

#[test]
fn words_stand_in_place_of_numbers_on_the_axis_as_far_as_there_is_room() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let points = steps(6, |x| x);
    let labels = (0..6).map(|day| (f64::from(day), format!("11-0{day} 09:00"))).collect();
    let chart = Chart::new("", &theme, &glyphs).series(view("a", &points)).x_labels("", labels);
    let shown = picture(&chart, 60, 10);
    assert!(shown.contains("11-00 09:00 ") && !shown.contains("step"), "{shown}");
    let told = shown.matches("09:00").count();
    assert!((3..6).contains(&told), "{shown}");
}

#[test]
fn in_one_or_two_rows_there_is_the_curve_alone() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let spent = steps(60, |x| x * x / 3600.0);
    let chart = Chart::new("", &theme, &glyphs).series(view("spent", &spent));
    let chart = chart.reference(1.0, "granted").x_axis("step", true);
    for rows in 1..=2 {
        let shown = picture(&chart, 40, rows);
        let is_of_curve = |c: char| ('\u{2800}'..='\u{28FF}').contains(&c) || "| \n─●".contains(c);
        assert!(shown.chars().all(is_of_curve), "{shown}");
    }
    let shown = picture(&chart, 40, 4);
    assert!(shown.contains("granted") && shown.contains('┤'), "{shown}");
}

#[test]
fn points_of_one_x_stand_beside_each_other_with_their_ranges() {
    let theme = Theme::truecolor();
    let points = [[(1.0, 12.0)], [(1.0, 20.0)], [(2.0, 9.0)]];
    let ranges = [(10.0, 14.0), (15.0, 26.0), (-1.0, 11.0)];
    for (glyphs, name) in [(Glyphs::unicode(), "ranges"), (Glyphs::ascii(), "ranges_ascii")] {
        let mut chart = Chart::new("", &theme, &glyphs).legend(false).x_axis("ε", false);
        for (slot, (point, range)) in points.iter().zip(ranges).enumerate() {
            chart = chart.series(SeriesView { range: Some(range), slot, ..view("", point) });
        }
        let figure = chart.arrange(Rect::new(0, 0, 40, 12)).figure.unwrap();
        let (low, high) = figure.y.ends();
        assert!(low <= -1.0 && high >= 26.0, "{low} to {high}");
        let per_cell = if glyphs.unicode { 2 } else { 1 };
        let cell = |curve: usize| figure.curves[curve][0].column / per_cell;
        assert_eq!((cell(0), cell(1)), (0, 1));
        insta::assert_snapshot!(name, picture(&chart, 40, 12));
        // A logarithmic axis has no place for what is not positive.
        let (low, _) = chart.log(true).arrange(Rect::new(0, 0, 40, 12)).figure.unwrap().y.ends();
        assert!(low > 0.0);
    }
}

#[test]
fn a_gap_on_a_log_axis_and_a_budget_line() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let gap = steps(200, |x| (-x / 15.0).exp());
    let chart = Chart::new("stationarity gap", &theme, &glyphs).series(view("gap", &gap)).log(true);
    insta::assert_snapshot!("log_axis", picture(&chart, 40, 12));
    let spent = steps(200, |x| 0.03 * x);
    let chart =
        Chart::new("spent", &theme, &glyphs).series(view("ε", &spent)).reference(8.0, "budget 8");
    insta::assert_snapshot!("budget", picture(&chart, 40, 12));
}

#[test]
fn without_braille_points_are_letters_and_joins_are_dots() {
    let (theme, glyphs) = (Theme::monochrome(), Glyphs::ascii());
    let (few, other) = (steps(5, |x| x * x), steps(5, |x| 12.0 - x));
    let chart = Chart::new("ε per step", &theme, &glyphs)
        .series(view("squares", &few))
        .series(SeriesView { curator: true, ..second("falling", &other) })
        .reference(14.0, "limit");
    let shown = picture(&chart, 50, 12);
    assert!(shown.is_ascii());
    insta::assert_snapshot!("ascii", shown);
}

#[test]
fn a_chart_without_curves_says_why() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let chart = |points, log, window| {
        let chart = Chart::new("loss", &theme, &glyphs).series(view("loss", points));
        picture(&chart.log(log).window(window), 50, 8)
    };
    let negative = steps(5, |x| -x);
    let nan = steps(5, |_| f64::NAN);
    assert!(chart(&[], false, None).contains("no steps yet"));
    assert!(chart(&[], true, Some((0.0, 1.0))).contains("no steps yet"));
    let log = "nothing positive to show on a log axis";
    assert!(chart(&negative, true, None).contains(log));
    assert!(!chart(&negative, false, None).contains(log));
    assert!(chart(&nan, false, None).contains("no finite values yet"));
    assert!(chart(&nan, true, None).contains("no finite values yet"));
    assert!(chart(&negative, false, Some((50.0, 60.0))).contains("no points in this range"));
    insta::assert_snapshot!("empty", chart(&[], false, None));
}

/// The rows of the plot in which a cell column has dots.
fn rows_with_dots(buffer: &Buffer, column: u16) -> Vec<u16> {
    let braille = |y: &u16| {
        let symbol = buffer[(column, *y)].symbol().chars().next();
        symbol.is_some_and(|c| ('\u{2801}'..='\u{28FF}').contains(&c))
    };
    (0..buffer.area.height).filter(braille).collect()
}

#[test]
fn one_spike_in_a_hundred_thousand_points_reaches_the_top() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let mut points = steps(100_000, |_| 1.0);
    points[54_321].1 = 9.0;
    let chart = Chart::new("", &theme, &glyphs).series(view("a", &points));
    let buffer = drawn(&chart, 80, 20);
    let tall = (7..80).filter(|&x| rows_with_dots(&buffer, x).len() > 10).count();
    assert!((1..=2).contains(&tall), "{tall} columns have the spike");
}

#[test]
fn a_noisy_curve_has_no_holes() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    for count in [2, 30, 73, 1_000, 20_000] {
        let points = steps(count, |x| (x * 12.9898).sin() * 5.0);
        let chart = Chart::new("", &theme, &glyphs).series(view("a", &points));
        let buffer = drawn(&chart, 80, 20);
        let mut before: Option<Vec<u16>> = None;
        for x in 7..79 {
            let rows = rows_with_dots(&buffer, x);
            assert!(!rows.is_empty(), "{count} points leave a hole at column {x}");
            assert!(rows.windows(2).all(|pair| pair[1] == pair[0] + 1));
            let touches =
                |before: &Vec<u16>| rows.iter().any(|a| before.iter().any(|b| a.abs_diff(*b) <= 1));
            assert!(before.as_ref().is_none_or(touches));
            before = Some(rows);
        }
    }
}

#[test]
fn not_a_number_leaves_a_gap_and_the_range_alone() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let points = steps(100, |x| match x as usize {
        40..60 => f64::NAN,
        70 => f64::INFINITY,
        71 => f64::NEG_INFINITY,
        _ => 1.0 + x / 100.0,
    });
    let chart = Chart::new("", &theme, &glyphs).series(view("a", &points));
    let buffer = drawn(&chart, 107, 20);
    assert!(rows_with_dots(&buffer, 7 + 50).is_empty());
    assert!(!rows_with_dots(&buffer, 7 + 30).is_empty());
    assert!(!rows_with_dots(&buffer, 7 + 90).is_empty());
    let figure = chart.arrange(buffer.area).figure.unwrap();
    assert_eq!(figure.y.ends(), Axis::around(1.0, 1.99, Scale::Linear).ends());
}

#[test]
fn the_cursor_reads_out_real_points_and_the_mouse_finds_its_x() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let often = steps(101, |x| x);
    let seldom: Vec<PlotPoint> = (0..=10).map(|i| (f64::from(i) * 10.0, 1.0)).collect();
    let chart = Chart::new("t", &theme, &glyphs)
        .series(view("often", &often))
        .series(second("seldom", &seldom))
        .cursor(Some(47.2));
    let shown = picture(&chart, 60, 14);
    assert!(shown.contains("step 47|"), "{shown}");
    assert!(shown.contains("often 47  ▲ seldom 1 @50"), "{shown}");

    let area = Rect::new(0, 0, 60, 14);
    let (plot, ends) = chart.draw(area, &mut Buffer::empty(area)).unwrap();
    assert_eq!((plot.left(), plot.right(), ends), (7, 60, (0.0, 100.0)));
    for column in 7..60 {
        let chart = chart.clone().cursor(Some(f64::from(column - 7) / 52.0 * 100.0));
        let buffer = drawn(&chart, 60, 14);
        let line = (0..14).filter(|&y| buffer[(column, y)].symbol() == "│").count();
        assert!(line > 5, "no line at column {column}");
    }
}

#[test]
fn styles_tell_curves_private_numbers_and_the_budget_apart() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let points = steps(50, |_| 1.0);
    let private = SeriesView { style: theme.series(1), curator: true, ..view("exact", &points) };
    let chart = Chart::new("", &theme, &glyphs).series(private).reference(2.0, "budget");
    let buffer = drawn(&chart, 60, 12);
    let color_of = |symbol: &str| {
        let found = buffer.content.iter().find(|cell| cell.symbol() == symbol);
        found.map(|cell| cell.fg)
    };
    assert_eq!(color_of("●"), theme.series(1).fg);
    assert_eq!(color_of("◆"), theme.curator.fg);
    assert_eq!(color_of("b"), theme.warning.fg);
    assert_eq!(color_of("│"), theme.border.fg);
    let dots: Vec<Color> = (7..60)
        .flat_map(|x| rows_with_dots(&buffer, x).into_iter().map(move |y| (x, y)))
        .map(|position| buffer[position].fg)
        .collect();
    assert!(dots.iter().all(|fg| [theme.series(1).fg, theme.warning.fg].contains(&Some(*fg))));
    assert!(dots.iter().any(|fg| Some(*fg) == theme.series(1).fg));
}

#[test]
fn the_monochrome_chart_has_no_colour_in_any_cell() {
    let theme = Theme::monochrome();
    for glyphs in [Glyphs::unicode(), Glyphs::ascii()] {
        let (loss, exact) = (loss(), exact_loss());
        let mut chart = Chart::new("loss", &theme, &glyphs).reference(0.1, "goal");
        for (index, points) in [&loss, &exact].into_iter().enumerate() {
            let style = theme.series(index);
            chart =
                chart.series(SeriesView { style, curator: true, slot: index, ..view("a", points) });
        }
        let buffer = drawn(&chart.cursor(Some(30.0)), 60, 14);
        let plain = |cell: &Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
        assert!(buffer.content.iter().all(plain));
    }
}

#[test]
fn long_names_shrink_before_any_number_is_lost() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let points = steps(3, |_| 0.125);
    let chart = Chart::new("t", &theme, &glyphs)
        .series(view("objective on the public records", &points))
        .series(second("exact", &points));
    let shown = picture(&chart, 40, 8);
    assert_eq!(shown.matches("0.125").count(), 2, "{shown}");
    assert!(shown.contains("exact"), "{shown}");
}

fn any_points() -> impl Strategy<Value = Vec<PlotPoint>> {
    let x = prop_oneof![8 => -50.0..50.0f64, 1 => any::<f64>()];
    let y = prop_oneof![
        6 => -10.0..10.0f64,
        2 => any::<f64>(),
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 0.0, 5e-324,
        ]),
    ];
    (prop::collection::vec((x, y), 0..40), any::<bool>()).prop_map(|(mut points, sorted)| {
        if sorted {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        points
    })
}

#[test]
fn long_names_of_a_legend_keep_their_beginning_and_their_end() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let points = steps(50, |_| 1.0);
    let names = ["public model, corrected, ε 1", "public model, corrected, ε 2", "line"];
    for columns in [24, 36, 60] {
        let mut chart = Chart::new("", &theme, &glyphs);
        for name in names {
            chart = chart.series(view(name, &points));
        }
        let shown = picture(&chart, columns, 8);
        let first = shown.lines().next().unwrap().to_owned();
        assert!(
            first.contains("● pub") && first.contains(" 1 ") && first.contains(" 2"),
            "{shown}"
        );
        // What has no room is counted.
        assert_eq!(first.contains(" +1"), columns == 24, "{columns}: {shown}");
    }
}

#[test]
fn shares_are_told_in_percent_on_the_axis_and_in_the_legend() {
    let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
    let points = [(1.0, 0.225), (2.0, 0.148)];
    let chart = Chart::new("", &theme, &glyphs).series(view("private", &points)).percent(true);
    let area = Rect::new(0, 0, 60, 14);
    let mut buffer = Buffer::empty(area);
    chart.draw(area, &mut buffer);
    let text: String = buffer.content.iter().map(Cell::symbol).collect();
    assert!(text.contains("private 14.8 %") && text.contains("20 %┤"), "{text}");
    assert!(!text.contains("0.2"), "{text}");
}

proptest! {
    #[test]
    fn any_chart_fits_in_any_area(
        a in any_points(), b in any_points(),
        (x, y, columns, rows) in (0u16..30, 0u16..12, 0u16..50, 0u16..20),
        corner: bool,
        window in prop::option::of((any::<f64>(), -60.0..60.0f64)),
        cursor in prop::option::of(prop_oneof![-60.0..60.0f64, any::<f64>()]),
        reference in prop_oneof![-5.0..20.0f64, any::<f64>()],
        (log, unicode, titled) in any::<(bool, bool, bool)>(),
    ) {
        // In the last corner of the terminal careless sums overflow.
        let origin = if corner { (u16::MAX - 40, u16::MAX - 16) } else { (0, 0) };
        let frame = Rect::new(origin.0, origin.1, 40, 16);
        let area = Rect::new(frame.x + x.min(39), frame.y + y, columns, rows);
        let theme = Theme::truecolor();
        let glyphs = if unicode { Glyphs::unicode() } else { Glyphs::ascii() };
        let chart = Chart::new(if titled { "title" } else { "" }, &theme, &glyphs)
            .series(view("first", &a))
            .series(SeriesView { curator: true, ..second("second", &b) })
            .window(window)
            .cursor(cursor)
            .reference(reference, "budget")
            .log(log);
        let mut buffer = Buffer::filled(frame, Cell::new("~"));
        let plot = chart.draw(area, &mut buffer);
        for position in frame.positions().filter(|position| !area.contains(*position)) {
            prop_assert_eq!(buffer[position].symbol(), "~", "{} is outside of {}", position, area);
        }
        if let Some((plot, (low, high))) = plot {
            prop_assert!(area.intersection(frame).union(plot) == area.intersection(frame));
            prop_assert!(low < high && low.is_finite() && high.is_finite());
        }
    }

    #[test]
    fn y_labels_differ_from_each_other(a in any_points(), log: bool, rows in 6u16..40) {
        let (theme, glyphs) = (Theme::truecolor(), Glyphs::unicode());
        let chart = Chart::new("", &theme, &glyphs).series(view("a", &a)).log(log);
        if let Some(figure) = chart.arrange(Rect::new(0, 0, 80, rows)).figure {
            for (i, (_, label)) in figure.y_labels.iter().enumerate() {
                prop_assert!(figure.y_labels[..i].iter().all(|(_, other)| other != label));
            }
        }
    }
}
