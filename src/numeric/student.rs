//! Student's t: the possible error of a mean of a few repeats.

use std::f64::consts::FRAC_2_PI;

use super::special::least;

/// From here on the normal distribution is used: a quantile differs by less than 10⁻⁵.
const MANY: usize = 100_000;

/// P(|T| ≤ t) for this many degrees of freedom, at least 1, by the finite sums of Abramowitz and
/// Stegun, 26.7.3 and 26.7.4.
pub fn within(t: f64, freedom: usize) -> f64 {
    let freedom = freedom.clamp(1, MANY);
    let angle = (t.abs() / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let mut power = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut j = usize::from(odd);
    while j + 2 <= freedom {
        sum += power;
        // odd: 2/3, 4/5, …; even: 1/2, 3/4, …
        power *= cosine * cosine * (j + 1) as f64 / (j + 2) as f64;
        j += 2;
        if power < 1e-18 {
            break;
        }
    }
    if odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

/// The t with P(|T| ≤ t) = `share`.
pub fn two_sided(share: f64, freedom: usize) -> f64 {
    least(0.0, 1e12, |t| within(t, freedom) >= share).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // scipy.stats.t.ppf(0.975, …)
        for (freedom, t) in [
            (1, 12.706_204_736_174_7),
            (2, 4.302_652_729_749_46),
            (3, 3.182_446_305_284_26),
            (4, 2.776_445_105_197_79),
            (9, 2.262_157_162_798_20),
            (10, 2.228_138_851_986_27),
            (29, 2.045_229_642_132_70),
            (1000, 1.962_339_080_826_41),
        ] {
            let ours = two_sided(0.95, freedom);
            assert!((ours - t).abs() < 1e-9, "{freedom}: {ours} {t}");
        }
        assert!((two_sided(0.95, usize::MAX) - 1.96).abs() < 1e-4);
        assert_eq!(within(0.0, 5), 0.0);
    }
}
