//! Chance that comes again: of the commit, or of the seed in `HALFLIGHT_SEED`.

#![allow(dead_code)] // not every test needs all of it

/// Where there is no commit, as in an unpacked archive.
const SEED: &str = "2785510a2c54";

/// Each commit has a seed of its own.
fn commit() -> Option<String> {
    let mut git = std::process::Command::new("git");
    git.args(["rev-parse", "--short=12", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let said = git.output().ok().filter(|said| said.status.success())?;
    String::from_utf8(said.stdout).ok()
}

/// Whether everything is to be tried: see `assets/harness.sh`.
pub fn is_long() -> bool {
    std::env::var("HALFLIGHT_HARNESS").is_ok_and(|word| word == "long")
}

/// Numbers that come again with their seed.
pub struct Dice(u64);

impl Dice {
    /// `what` tells harnesses apart.
    pub fn of_the_seed(what: &str) -> Self {
        let seed = std::env::var("HALFLIGHT_SEED").ok().or_else(commit);
        let seed = seed.unwrap_or_else(|| SEED.to_owned());
        let seed = seed.trim();
        println!("{what}: HALFLIGHT_SEED={seed}");
        Self::new(0, &format!("{seed}{what}"))
    }

    pub fn new(seed: u64, what: &str) -> Self {
        Self(what.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`; 0 where there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Some bytes are others, missing, or come from elsewhere.
pub fn damage(bytes: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    const NASTY: [u8; 6] = [0x00, 0xff, 0x7f, 0x80, b'"', b'\n'];
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len());
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 | 2 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
            3 if !bytes.is_empty() => bytes[at] = NASTY[dice.below(NASTY.len())],
            4 => {
                // A piece of itself or of another file, somewhere else.
                let from = dice.below(other.len());
                let piece = other[from..(from + dice.below(40)).min(other.len())].to_vec();
                let end = (at + dice.below(40)).min(bytes.len());
                bytes.splice(at.min(end)..end, piece);
            }
            _ => {
                // Eight bytes that may be a length.
                let end = (at + 1 + dice.below(8)).min(bytes.len());
                bytes[at.min(end)..end].fill(0xff);
            }
        }
    }
    bytes
}

/// Damages a text whose words are numbers, names and brackets: some words become others.
pub fn damage_words(text: &str, dice: &mut Dice) -> String {
    const NASTY: [&str; 22] = [
        "0",
        "-1",
        "-0.0",
        "1e400",
        "-1e-400",
        "NaN",
        "inf",
        "null",
        "true",
        "\"\"",
        "[]",
        "{}",
        "()",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "4294967296",
        "1e308",
        "9007199254740993",
        "\"\u{202e}\\u0000\u{1f600}\"",
        "[[[[[[[[[[",
        "((((((((((",
    ];
    let mut text = text.to_owned();
    for _ in 0..=dice.below(2) {
        let is_word = |letter: char| letter.is_alphanumeric() || "+-._\"".contains(letter);
        let words: Vec<(usize, &str)> = text
            .match_indices(|letter: char| !is_word(letter))
            .map(|(at, _)| at + 1)
            .filter_map(|at| {
                let rest = text.get(at..)?;
                let end = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
                (end > 0).then(|| (at, &rest[..end]))
            })
            .collect();
        let Some((at, word)) = words.get(dice.below(words.len())).copied() else { break };
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        let numbers: Vec<_> = words.iter().filter(|(_, word)| is_number(word)).collect();
        let (at, word) = match dice.below(4) {
            // Numbers are where most can go wrong.
            0 | 1 if !numbers.is_empty() => *numbers[dice.below(numbers.len())],
            _ => (at, word),
        };
        let (_, elsewhere) = words[dice.below(words.len())];
        let new = match dice.below(8) {
            0 => String::new(),
            1 => elsewhere.to_owned(),
            2 => format!("{word}{word}"),
            3 => "(".repeat(1 << dice.below(18)),
            4 => "[".repeat(1 << dice.below(18)),
            _ => NASTY[dice.below(NASTY.len())].to_owned(),
        };
        text.replace_range(at..at + word.len(), &new);
    }
    text
}
