//! Numbers for people: short, never misleading.

/// The direction in which a shortened number may be rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Nearest,
    /// Towards +∞: a spent ε is never shown smaller than it is.
    Up,
    /// Towards −∞: the rest of a budget is never shown larger than it is.
    Down,
}

/// The text for a number that does not exist.
const NOTHING: &str = "–";

/// At most three significant digits: `0.0123`, `1.2e-5`, `12.5k`, `–` for NaN.
pub fn compact(x: f64) -> String {
    shortened(x, Rounding::Nearest)
}

/// A value of a column: a whole number of up to five digits as it is, such as a year, others like
/// [`compact`].
pub fn of_a_cell(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e5 { format!("{}", x + 0.0) } else { compact(x) }
}

/// Four significant digits, all of them written, for the cells of a table: `0.7086`, `652.3k`,
/// `17.39M`.
pub fn four_digits(x: f64) -> String {
    if !x.is_finite() || x == 0.0 {
        return compact(x);
    }
    let scientific = format!("{x:.3e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or(("0", "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (below, unit) = match exponent {
        -3..=2 => (0, ""),
        3..=5 => (3, "k"),
        6..=8 => (6, "M"),
        9..=11 => (9, "G"),
        _ => return scientific,
    };
    // The digits are rounded only once, so the shown number is the rounded one.
    let shown: f64 = format!("{mantissa}e{}", exponent - below).parse().unwrap_or(0.0);
    let decimals = (3 - (exponent - below)).unsigned_abs() as usize;
    format!("{shown:.decimals$}{unit}")
}

/// A share, such as that of wrong answers: `18.0 %`, and a second decimal below 1 %.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return compact(share);
    }
    let percent = 100.0 * share + 0.0;
    let decimals = if percent != 0.0 && percent.abs() < 0.995 { 2 } else { 1 };
    format!("{percent:.decimals$} %")
}

/// Like [`compact`], but never smaller than `x`: for privacy that has been spent.
pub fn compact_up(x: f64) -> String {
    shortened(x, Rounding::Up)
}

/// Like [`compact`], but never larger than `x`: for privacy that is still allowed.
pub fn compact_down(x: f64) -> String {
    shortened(x, Rounding::Down)
}

fn shortened(x: f64, rounding: Rounding) -> String {
    if x.is_nan() {
        return NOTHING.to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if x == 0.0 {
        return "0".to_owned();
    }
    let (mut digits, mut exponent) = three_digits(x.abs());
    let shown = written(x < 0.0, digits, exponent);
    // The printed decimal is compared with the number itself, so "rounded up" holds for the shown
    // number and not for some intermediate value.
    let step = match rounding {
        Rounding::Up if shown < x => 1,
        Rounding::Down if shown > x => -1,
        _ => 0,
    };
    digits += if x < 0.0 { -step } else { step };
    if digits < 100 {
        // One unit below 1.00 is 0.999: keep three digits.
        (digits, exponent) = (digits * 10 + 9, exponent - 1);
    }
    let sign = if x < 0.0 { "-" } else { "" };
    format!("{sign}{}", decimal(digits, exponent - 2))
}

/// The three leading digits (100..=999, correctly rounded) and the exponent of
/// the first: `x ≈ digits · 10^(exponent − 2)`.
fn three_digits(x: f64) -> (i64, i32) {
    let scientific = format!("{x:.2e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or(("0.00", "0"));
    let digits = mantissa.replace('.', "").parse().unwrap_or(0);
    (digits, exponent.parse().unwrap_or(0))
}

fn written(negative: bool, digits: i64, exponent: i32) -> f64 {
    let sign = if negative { "-" } else { "" };
    format!("{sign}{digits}e{}", exponent - 2).parse().unwrap_or(0.0)
}

/// `n · 10^exponent` without loss, in the notation that suits its size: plain
/// from 0.001 to 999, then k, M, G, and powers of ten outside these.
pub(crate) fn decimal(n: i64, exponent: i32) -> String {
    decimal_like(n, exponent, magnitude(n, exponent))
}

/// The exponent of the leading digit of `n · 10^exponent`.
pub(crate) fn magnitude(n: i64, exponent: i32) -> i32 {
    exponent + n.unsigned_abs().checked_ilog10().map_or(0, |digits| digits as i32)
}

/// Like [`decimal`], in the notation for numbers of the given magnitude, so that all labels of an
/// axis share one unit. Different `n` give different texts.
pub(crate) fn decimal_like(n: i64, exponent: i32, magnitude: i32) -> String {
    if n == 0 {
        return "0".to_owned();
    }
    let sign = if n < 0 { "-" } else { "" };
    let (mut digits, mut exponent) = (n.unsigned_abs(), exponent);
    while digits.is_multiple_of(10) {
        (digits, exponent) = (digits / 10, exponent + 1);
    }
    match magnitude {
        -3..=2 => format!("{sign}{}", plain(digits, exponent)),
        3..=5 => format!("{sign}{}k", plain(digits, exponent - 3)),
        6..=8 => format!("{sign}{}M", plain(digits, exponent - 6)),
        9..=11 => format!("{sign}{}G", plain(digits, exponent - 9)),
        _ => {
            let leading = digits.checked_ilog10().map_or(0, |digits| digits as i32);
            format!("{sign}{}e{}", plain(digits, -leading), exponent + leading)
        }
    }
}

/// `digits · 10^exponent` with a decimal point and without an exponent.
fn plain(digits: u64, exponent: i32) -> String {
    let digits = digits.to_string();
    if exponent >= 0 {
        return digits + &"0".repeat(exponent as usize);
    }
    let decimals = exponent.unsigned_abs() as usize;
    let padded = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = padded.split_at(padded.len() - decimals);
    format!("{whole}.{fraction}")
}

/// A span of time in its two leading units: `3 s`, `2 min 05 s`, `1 h 02 min`.
pub fn duration(seconds: f64) -> String {
    if seconds.is_nan() || seconds < 0.0 {
        return NOTHING.to_owned();
    }
    if seconds.is_infinite() {
        return "∞".to_owned();
    }
    if seconds < 0.9995 {
        return format!("{:.0} ms", seconds * 1e3);
    }
    if seconds < 9.95 {
        let tenths = (seconds * 10.0).round() as u64;
        return match tenths % 10 {
            0 => format!("{} s", tenths / 10),
            tenth => format!("{}.{tenth} s", tenths / 10),
        };
    }
    let seconds = seconds.round() as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    if minutes == 0 {
        format!("{seconds} s")
    } else if hours == 0 {
        format!("{minutes} min {:02} s", seconds % 60)
    } else if days == 0 {
        format!("{hours} h {:02} min", minutes % 60)
    } else {
        format!("{days} d {:02} h", hours % 24)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a number back as a person would.
    fn read(text: &str) -> f64 {
        let (number, unit) = match text.chars().last() {
            Some('k') => (&text[..text.len() - 1], "e3"),
            Some('M') => (&text[..text.len() - 1], "e6"),
            Some('G') => (&text[..text.len() - 1], "e9"),
            _ => (text, ""),
        };
        format!("{number}{unit}").parse().unwrap()
    }

    #[test]
    fn years_stay_whole_and_other_values_are_short() {
        let written = [2014.0, -0.0, 99_999.0, 123_456.0, 0.25, f64::NAN].map(of_a_cell);
        assert_eq!(written, ["2014", "0", "99999", "123k", "0.25", "–"]);
    }

    #[test]
    fn the_cells_of_a_table_have_four_digits_and_shares_are_in_percent() {
        for (x, text) in [
            (0.70856, "0.7086"),
            (1.2636, "1.264"),
            (0.001_234_56, "0.001235"),
            (652_312.0, "652.3k"),
            (17_391_870.906_5, "17.39M"),
            (999.96, "1.000k"),
            (-42.0, "-42.00"),
            (1.234_56e-7, "1.235e-7"),
            (0.0, "0"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(four_digits(x), text);
        }
        for (share, text) in [
            (0.18, "18.0 %"),
            (0.0, "0.0 %"),
            (-0.0, "0.0 %"),
            (0.0004, "0.04 %"),
            (1.0, "100.0 %"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent(f64::NAN), "–");
    }

    #[test]
    fn numbers_are_shortened_to_three_digits() {
        let rows = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.0123, "0.0123"),
            (0.012_345, "0.0123"),
            (0.001, "0.001"),
            (0.000_999_9, "0.001"),
            (1.2e-5, "1.2e-5"),
            (1e-300, "1e-300"),
            (999.4, "999"),
            (999.9, "1k"),
            (12_500.0, "12.5k"),
            (999_999.0, "1M"),
            (3.25e9, "3.25G"),
            (1e12, "1e12"),
            (f64::MAX, "1.8e308"),
            (5e-324, "4.94e-324"),
            (f64::NAN, "–"),
            (f64::INFINITY, "∞"),
            (f64::NEG_INFINITY, "-∞"),
        ];
        for (x, text) in rows {
            assert_eq!(compact(x), text, "{x:e}");
        }
    }

    #[test]
    fn a_spent_epsilon_is_rounded_up_and_a_budget_down() {
        assert_eq!(compact_up(1.24), "1.24");
        assert_eq!(compact_up(1.2401), "1.25");
        assert_eq!(compact_up(9.991), "10");
        assert_eq!(compact_up(1e-9), "1e-9");
        assert_eq!(compact_down(8.0), "8");
        assert_eq!(compact_down(7.9999), "7.99");
        assert_eq!(compact_down(0.999_999), "0.999");
    }

    #[test]
    fn durations_show_their_two_leading_units() {
        let rows = [
            (0.0, "0 ms"),
            (0.25, "250 ms"),
            (0.9999, "1 s"),
            (3.0, "3 s"),
            (3.12, "3.1 s"),
            (9.99, "10 s"),
            (59.7, "1 min 00 s"),
            (125.0, "2 min 05 s"),
            (3_725.0, "1 h 02 min"),
            (183_600.0, "2 d 03 h"),
            (f64::NAN, "–"),
            (-1.0, "–"),
            (f64::INFINITY, "∞"),
        ];
        for (seconds, text) in rows {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
        assert!(!duration(f64::MAX).is_empty());
    }

    #[test]
    fn labels_of_one_axis_share_a_unit() {
        assert_eq!(decimal_like(5, 2, 3), "0.5k");
        assert_eq!(decimal_like(125, 2, 4), "12.5k");
        assert_eq!(decimal_like(-20, -6, -5), "-2e-5");
        assert_eq!(decimal(1, -3), "0.001");
        assert_eq!(decimal(1, -4), "1e-4");
    }

    fn any_number() -> impl Strategy<Value = f64> {
        prop_oneof![any::<f64>(), -1e7..1e7f64, -1.0..1.0f64]
    }

    proptest! {
        #[test]
        fn a_short_number_reads_as_nearly_the_same(x in any_number()) {
            prop_assume!(x.is_finite() && x.abs() < 1e300);
            let near = read(&compact(x));
            prop_assert!((near - x).abs() <= 0.005_001 * x.abs() + 5e-324, "{x:e} -> {near:e}");
            prop_assert!(compact(x).len() <= "-1.23e-308".len());
            prop_assert_ne!(compact(x), "-0");
        }

        #[test]
        fn rounding_never_goes_the_wrong_way(x in any_number()) {
            prop_assume!(x.is_finite() && x.abs() < 1e300);
            prop_assert!(read(&compact_up(x)) >= x, "{x:e} up {}", compact_up(x));
            prop_assert!(read(&compact_down(x)) <= x, "{x:e} down {}", compact_down(x));
            prop_assert!(read(&compact_up(x)) - x <= 0.010_001 * x.abs() + 5e-324);
        }

        #[test]
        fn different_multiples_have_different_labels(
            a in -100_000i64..100_000, b in -100_000i64..100_000,
            exponent in -20i32..20, magnitude in -25i32..25,
        ) {
            prop_assume!(a != b);
            prop_assert_ne!(
                decimal_like(a, exponent, magnitude),
                decimal_like(b, exponent, magnitude)
            );
        }
    }
}
