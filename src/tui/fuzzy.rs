//! Search by a few letters (pickers) and by words (filters).

/// How well the letters of `query` appear in `text` in their order: `None` if they do not; larger
/// is better. Blanks in the query are ignored.
pub fn score(query: &str, text: &str) -> Option<i32> {
    let mut wanted = query.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase);
    let Some(mut next) = wanted.next() else { return Some(0) };
    let (mut score, mut before, mut run) = (0, ' ', 0);
    for (place, c) in text.chars().flat_map(char::to_lowercase).enumerate() {
        if c == next {
            run += 1;
            // People type beginnings of words and consecutive letters.
            score += 1 + 5 * (run - 1);
            if !before.is_alphanumeric() {
                score += 6;
            }
            if place == 0 {
                score += 4;
            }
            match wanted.next() {
                Some(following) => next = following,
                None => return Some(score),
            }
        } else {
            run = 0;
        }
        before = c;
    }
    None
}

/// Whether all words of the filter are in the text, in any order and case.
pub fn holds(filter: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    filter.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_must_appear_in_their_order() {
        assert!(score("lnch", "launch this plan").is_some());
        assert!(score("hcnl", "launch this plan").is_none());
        assert_eq!(score("", "anything"), Some(0));
        assert!(score("É", "café").is_some());
    }

    #[test]
    fn beginnings_of_words_and_letters_in_a_row_win() {
        let best = |query: &str, better: &str, worse: &str| {
            assert!(score(query, better) > score(query, worse), "{query}: {better} over {worse}");
        };
        best("log", "log axis", "launch or go");
        best("sb", "set budget", "visible");
        best("plan", "new plan", "epilation");
    }

    #[test]
    fn a_filter_wants_all_words_in_any_order() {
        assert!(holds("moment winter", "winter · Moment release"));
        assert!(!holds("moment summer", "winter · Moment release"));
        assert!(holds("", "x"));
    }
}
