//! Replaces a secret where it stands as a word of its own in a text. Pure.

use std::borrow::Cow;

/// A shorter secret hides nothing where it is left out, and would take ordinary words with it.
pub const SHORTEST: usize = 8;

/// How much of a long secret is enough to be recognised where a text was cut.
pub const BEGINNING: usize = 16;

/// Returns a text with each occurrence of a word replaced. A word that is a part of a longer one is another word. Nothing
/// is copied where the word does not occur.
pub fn replace_word<'t>(text: &'t str, word: &str, mark: &str) -> Cow<'t, str> {
    replace(text, word, word, mark)
}

/// Does so also where a text was cut within the word, if enough of a long word is left.
pub fn replace_cut_word<'t>(text: &'t str, word: &str, mark: &str) -> Cow<'t, str> {
    let end = (BEGINNING..word.len()).find(|at| word.is_char_boundary(*at));
    replace(text, word, end.map_or(word, |end| &word[..end]), mark)
}

/// Replaces a word, and each longer part of it that has this beginning.
fn replace<'t>(text: &'t str, word: &str, beginning: &str, mark: &str) -> Cow<'t, str> {
    if word.is_empty() || text.len() < beginning.len() || !text.contains(beginning) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(beginning) {
        let (before, from) = rest.split_at(at);
        let same = from.chars().zip(word.chars()).take_while(|(one, other)| one == other);
        let length = same.map(|(c, _)| c.len_utf8()).sum();
        let after = &from[length..];
        shown.push_str(before);
        let is_inside =
            shown.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        if is_inside {
            // It may begin again inside of itself.
            let first = from.chars().next().map_or(0, char::len_utf8);
            shown.push_str(&from[..first]);
            rest = &from[first..];
        } else {
            shown.push_str(mark);
            rest = after;
        }
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Returns a text with each occurrence of each word replaced.
pub fn replace_words<'t, 'w>(
    text: &'t str,
    words: impl IntoIterator<Item = &'w str>,
    mark: &str,
) -> Cow<'t, str> {
    words.into_iter().fold(Cow::Borrowed(text), |shown, word| {
        match replace_word(&shown, word, mark) {
            Cow::Borrowed(_) => shown,
            Cow::Owned(replaced) => Cow::Owned(replaced),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_word_is_enough_where_a_text_was_cut() {
        let word = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2lnbmF0dXJl";
        for (text, expected) in [
            ("token eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2lnbmF0dXJl!", "token *!"),
            ("token eyJhbGciOiJSUzI1NiJ9.eyJpc3... (30 more)", "token *... (30 more)"),
            ("token eyJhbGciOiJSUzI1N", "token *"),
            ("token eyJhbGciOiJSU", "token eyJhbGciOiJSU"),
            (
                "another eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOi.c",
                "another eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOi.c",
            ),
            (
                "longer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2lnbmF0dXJlX",
                "longer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJr.c2lnbmF0dXJlX",
            ),
        ] {
            assert_eq!(replace_cut_word(text, word, "*"), expected, "{text}");
        }
        assert_eq!(replace_cut_word("aéaéaéaéaéaé aéaéaéaéaéaéa", "aéaéaéaéaéaéaé", "*"), "* *");
        assert_eq!(replace_cut_word("a short", "short", "*"), "a *");
    }

    #[test]
    fn whole_words_are_replaced() {
        for (name, word, text, expected) in [
            ("nothing", "aaaaaaaa", "bbbbbbbbb", "bbbbbbbbb"),
            ("no word", "", "b", "b"),
            ("between marks", "s3cr3t", "no: 's3cr3t'", "no: '*'"),
            ("twice", "aaaa", "aaaa=aaaa", "*=*"),
            ("a part of a word", "aaaa", "aaaaa äaaaa", "aaaaa äaaaa"),
            ("part, then whole", "aa.aa", "aa.aab aa.aa", "aa.aab *"),
        ] {
            assert_eq!(replace_word(text, word, "*"), expected, "{name}");
        }
        assert!(matches!(replace_word("text", "word", "*"), Cow::Borrowed(_)));
        assert_eq!(replace_words("one two three", ["one", "two"], "*"), "* * three");
    }
}
