//! Takes secrets out of pasted texts, before anything is made of them.

/// What stands in place of a secret.
const MASK: &str = "***";

/// Names whose values are secrets, small and without signs.
const NAMES: [&str; 19] = [
    "authorization",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "token",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "secretaccesskey",
    "clientsecret",
    "privatekey",
    "credential",
    "credentials",
    "cookie",
    "signature",
    "xamzsignature",
    "sig",
];

/// Beginnings of secrets that are known by their form.
const FORMS: [&str; 14] = [
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "sk-",
    "sk_live_",
    "AKIA",
    "ASIA",
    "AIza",
    "dckr_pat_",
];

/// Returns the text without the secrets that can be recognised in it.
pub(super) fn masked(text: &str) -> String {
    let text = without_keys(text);
    let text = without_user_info(&text);
    let text = without_named(&text);
    without_forms(&text)
}

/// Blocks of PEM.
fn without_keys(text: &str) -> String {
    let mut rest = text;
    let mut all = String::new();
    while let Some(at) = rest.find("-----BEGIN ") {
        all.push_str(&rest[..at]);
        all.push_str(MASK);
        let block = &rest[at + 11..];
        rest = match block.find("-----END ") {
            Some(end) => {
                let tail = &block[end + 9..];
                tail.find("-----").map_or("", |close| &tail[close + 5..])
            }
            None => "",
        };
    }
    all + rest
}

/// `https://user:password@host`
fn without_user_info(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        all.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/\"'?#<>\\".contains(c));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = after;
        if let Some(user) = authority.rfind('@') {
            all.push_str(MASK);
            rest = &after[user..];
        }
    }
    all + rest
}

/// `password=VALUE`, `"token": "VALUE"`, `Authorization: Bearer VALUE`, `--token VALUE`
fn without_named(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let (before, word) = rest.split_at(start);
        all.push_str(before);
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
        let (name, after) = word.split_at(end.unwrap_or(word.len()));
        all.push_str(name);
        rest = after;
        let is_flag = before.ends_with("--");
        if let Some((kept, value, left)) = secret_after(name, is_flag, after) {
            all.push_str(kept);
            if !value.is_empty() {
                all.push_str(MASK);
            }
            rest = left;
        }
    }
    all + rest
}

/// Returns what stands between a name and its secret value, the value, and the rest.
fn secret_after<'t>(
    name: &str,
    is_flag: bool,
    after: &'t str,
) -> Option<(&'t str, &'t str, &'t str)> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let is_scheme = matches!(plain.as_str(), "bearer" | "basic") && after.starts_with(' ');
    let is_named =
        NAMES.iter().any(|secret| plain == *secret || plain.ends_with(secret) && plain.len() > 4);
    if !is_scheme && !is_named {
        return None;
    }
    let mut at = after.len() - after.trim_start_matches(['"', '\'', '\\']).len();
    if !is_scheme {
        let sign = after[at..].trim_start();
        if !(sign.starts_with(['=', ':']) || is_flag && after.starts_with(' ')) {
            return None;
        }
        // `failed to fetch token: cannot ...` is a sentence: a value there has no spaces after it, or quotes around it.
        let is_colon = sign.starts_with(':');
        at = after.len() - sign.len() + usize::from(sign.starts_with(['=', ':']));
        if is_colon && !is_value_of(&plain, is_called(name), &after[at..]) {
            return None;
        }
    }
    at += after[at..].len() - after[at..].trim_start_matches([' ', '"', '\'', '\\']).len();
    for scheme in ["Bearer ", "bearer ", "Basic ", "basic "] {
        if after[at..].starts_with(scheme) {
            at += scheme.len();
        }
    }
    let value = &after[at..];
    let end = value.find(|c: char| c.is_whitespace() || "\"'\\,;&)}]<>".contains(c));
    let end = end.unwrap_or(value.len());
    // A word after `basic` or `bearer` in a sentence is not a secret.
    if is_scheme && end < 8 {
        return None;
    }
    Some((&after[..at], &value[..end], &value[end..]))
}

/// Returns true for the name of a function, as `GetSecret`: what follows it says how the call went.
fn is_called(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name);
    ["Get", "List", "Set", "Delete", "Update", "Create"].iter().any(|verb| {
        name.strip_prefix(verb).is_some_and(|it| it.starts_with(|c: char| c.is_ascii_uppercase()))
    })
}

/// Returns true for the beginning of a sentence: a word of letters, the first one large, and one of small letters.
fn is_sentence(text: &str) -> bool {
    let mut words = text.split(' ');
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let is_small = |word: &str| !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase());
    let rest = first.strip_prefix(|c: char| c.is_ascii_uppercase());
    rest.is_some_and(is_small) && is_small(second)
}

/// Returns true if what follows `name:` looks like a value rather than the rest of a sentence.
fn is_value_of(name: &str, is_called: bool, after: &str) -> bool {
    let after = after.trim_start_matches(['"', '\\', '\'']);
    // What registries answer: `may require authorization: server message: ...`.
    if after.starts_with(" server message:") {
        return false;
    }
    if name == "authorization" || !after.starts_with(' ') {
        return true;
    }
    let value = after.trim_start().trim_start_matches(['"', '\'', '\\']);
    // An error of Go's HTTP client, `Post "https://..."`, is what failed.
    let is_request = ["Get ", "Post ", "Put ", "Patch ", "Delete "].iter().any(|verb| {
        let url = value.strip_prefix(verb).map(|it| it.trim_start_matches(['\\', '"']));
        url.is_some_and(|it| it.starts_with("https://") || it.starts_with("http://"))
    });
    if is_request {
        return false;
    }
    if is_called && is_sentence(value) {
        return false;
    }
    let end =
        value.find(|c: char| c.is_whitespace() || "\"',;}".contains(c)).unwrap_or(value.len());
    let (value, rest) = value.split_at(end);
    let is_word = value.chars().all(|c| c.is_ascii_lowercase() || c == ':' || c == '-');
    !is_word
        || rest.trim_start_matches(['"', '\'']).trim().is_empty()
        || rest.starts_with(['"', '\''])
}

/// Tokens that have a form of their own, and bootstrap tokens.
fn without_forms(text: &str) -> String {
    let mut all = String::new();
    let mut word = String::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    for c in text.chars().chain(['\n']) {
        if is_part(c) {
            word.push(c);
            continue;
        }
        let known =
            FORMS.iter().any(|form| word.starts_with(form) && word.len() >= form.len() + 12);
        all.push_str(if known || is_bootstrap_token(&word) { MASK } else { &word });
        word.clear();
        all.push(c);
    }
    all.pop();
    all
}

fn is_bootstrap_token(word: &str) -> bool {
    let small = |part: &str| part.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    match word.split_once('.') {
        Some((id, secret)) => id.len() == 6 && secret.len() == 16 && small(id) && small(secret),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_sentences_are_not() {
        let rows = [
            ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***"),
            ("-H 'Authorization: Basic dXNlcjpwYXNz'", "-H 'Authorization: Basic ***'"),
            ("https://bob:hunter2@registry.example/v2/", "https://***@registry.example/v2/"),
            (r#"{"password":"hunter2","a":1}"#, r#"{"password":"***","a":1}"#),
            (r#"{\"password\":\"hunter2\"}"#, r#"{\"password\":\"***\"}"#),
            ("--token=abcdef.0123456789abcdef x", "--token=*** x"),
            ("join abcdef.0123456789abcdef", "join ***"),
            ("password: hunter2", "password: ***"),
            ("failed to fetch token: cannot create it", "failed to fetch token: cannot create it"),
            (
                "failed to fetch token: Post \"https://n/x\": no",
                "failed to fetch token: Post \"https://n/x\": no",
            ),
            ("token: Post", "token: ***"),
            ("?X-Amz-Signature=00ff&x=1", "?X-Amz-Signature=***&x=1"),
            ("secret \"db\" not found", "secret \"db\" not found"),
            ("got eyJhbGciOiJSUzI1NiIsImtpZCI6Ij.x.y", "got ***"),
            ("-----BEGIN RSA PRIVATE KEY-----\nAB\n-----END RSA PRIVATE KEY----- rest", "*** rest"),
            (
                "BaseClient#GetSecret: Failure responding to request",
                "BaseClient#GetSecret: Failure responding to request",
            ),
            ("GetSecret: Hunter2 responding", "GetSecret: *** responding"),
            ("clientSecret: Failure responding", "clientSecret: *** responding"),
            ("AWS_SECRET_ACCESS_KEY=wJalr/x", "AWS_SECRET_ACCESS_KEY=***"),
        ];
        for (text, expected) in rows {
            assert_eq!(masked(text), expected);
        }
    }
}
