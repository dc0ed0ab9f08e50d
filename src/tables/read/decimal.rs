//! The numbers of text files at the speed at which their digits can be read.

/// The plain decimal number of few digits that `text` starts with, and its length, if the cell ends
/// there. It is exact: the digits are an integer below 2⁵³ and the power of ten is exact, so only
/// the division rounds. `None` for anything longer or more unusual, number or not.
#[inline]
pub(super) fn leading(text: &[u8], delimiter: u8) -> Option<(f64, usize)> {
    const POWERS: [f64; 19] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18,
    ];
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let mut integer = 0;
    let mut at = leading_digits(text, start, &mut integer);
    let (mut digits, mut decimals) = (at - start, 0);
    if text.get(at) == Some(&b'.') {
        let point = at + 1;
        at = leading_digits(text, point, &mut integer);
        decimals = at - point;
        digits += decimals;
    }
    let ends = text.get(at).is_none_or(|&byte| byte == delimiter);
    if !ends || digits == 0 || digits >= POWERS.len() || integer >= 1 << 53 {
        return None;
    }
    let number = integer as f64 / POWERS[decimals];
    Some((if negative { -number } else { number }, at))
}

/// Appends the digits from `at` on to `integer`, which may overflow. Returns their end.
fn leading_digits(text: &[u8], mut at: usize, integer: &mut u64) -> usize {
    const POWERS: [u64; 9] =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    while let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let (value, count) = digits_of(*eight);
        *integer = integer.wrapping_mul(POWERS[count]).wrapping_add(value);
        at += count;
        if count < 8 {
            return at;
        }
    }
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10) {
        *integer = integer.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

/// The number written by the digits at the start of eight bytes, and the number of digits, computed
/// at once in one register.
fn digits_of(bytes: [u8; 8]) -> (u64, usize) {
    const ONES: u64 = u64::MAX / 255;
    // Digits become 0 to 9. Adding 118 takes anything larger to 128 and more; carries only go to
    // later bytes.
    let values = u64::from_le_bytes(bytes) ^ (ONES * 0x30);
    let others = (values.wrapping_add(ONES * 118) | values) & (ONES * 128);
    let count = others.trailing_zeros() as usize / 8;
    // Zeros in front of the digits.
    let values = values.checked_shl(64 - 8 * count as u32).unwrap_or(0);
    // Neighbours are combined: digits to numbers below 100, these to numbers below 10⁴ … …
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8) & (ONES * 255 / 257);
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff, count)
}

/// A number with a decimal comma, or with points between its thousands, as one with a decimal
/// point: `1.234,5` becomes `1234.5`. `None` for anything else.
pub(super) fn with_point(text: &str) -> Option<String> {
    let (whole, decimals) = text.split_once(',').unwrap_or((text, ""));
    let mut groups = whole.trim_start_matches(['-', '+']).split('.');
    let first = groups.next()?;
    let mut thousands = groups.clone();
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = (1..=3).contains(&first.len());
    let whole_is_plain = thousands.next().is_none()
        || grouped && groups.all(|group| group.len() == 3 && are_digits(group));
    let is_one = text.contains([',', '.'])
        && are_digits(first)
        && whole_is_plain
        && !decimals.contains([',', '.']);
    let number = format!("{}.{decimals}", whole.replace('.', ""));
    (is_one && crate::column::finite(&number).is_some()).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_decimal_comma_becomes_a_point_and_points_between_thousands_go() {
        for (text, number) in [("1,5", 1.5), ("-0,25", -0.25), ("1.234,5", 1234.5), (",5", 0.5)] {
            let read = with_point(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(read.parse::<f64>(), Ok(number), "{text}");
        }
        assert_eq!(with_point("12.345.678").as_deref(), Some("12345678."));
        for other in ["", "7", "3.14", "1.23,4", "1,2,3", "a,b", ",", "1234.567", "nan,", "1,5e"] {
            assert_eq!(with_point(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn quick_numbers_are_the_numbers_that_the_standard_library_reads(
            text in "-?[0-9]{0,20}[.]?[0-9]{0,20}"
        ) {
            for end in ["", ",", ",5"] {
                let cell = format!("{text}{end}");
                let digits = text.chars().filter(char::is_ascii_digit).count();
                let quick = leading(cell.as_bytes(), b',');
                prop_assert_eq!(quick.is_some() && digits < 16, (1..16).contains(&digits));
                if let Some((number, length)) = quick {
                    prop_assert_eq!(length, text.len());
                    prop_assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits());
                }
            }
        }
    }
}
