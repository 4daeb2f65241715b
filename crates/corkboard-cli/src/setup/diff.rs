//! What would change, without secrets.

use similar::TextDiff;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Words in the names of secrets.
const SECRETS: [&str; 7] = ["token", "key", "secret", "password", "passphrase", "authorization", "bearer"];
const MASK: &str = "***";

/// A unified diff. Values that could be secrets are masked.
pub(super) fn unified(path: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(CONTEXT).header(path, path).to_string();
    masked(&text)
}

/// The text with a mask in place of values whose names say that they are secret, and of passwords in URLs.
pub(super) fn masked(text: &str) -> String {
    text.split_inclusive('\n').map(masked_line).collect()
}

fn masked_line(line: &str) -> String {
    let lower = line.to_lowercase();
    let after_name = SECRETS.iter().filter_map(|word| Some(lower.find(word)? + word.len())).min();
    // Lower case can have other lengths.
    let value = after_name.filter(|_| lower.len() == line.len()).and_then(|at| {
        let rest = line.get(at..)?;
        let value = at + rest.find([':', '='])? + 1;
        line.get(value..)?.contains(|letter: char| letter.is_alphanumeric()).then_some(value)
    });
    let Some(value) = value else { return without_password(line) };
    let (name, value) = line.split_at(value);
    let end = value.trim_end().chars().next_back().filter(|last| ",}]".contains(*last));
    let line_end = &value[value.trim_end().len()..];
    [name, " ", MASK, &end.map(String::from).unwrap_or_default(), line_end].concat()
}

/// Masks the password of `scheme://user:password@host`.
fn without_password(line: &str) -> String {
    let masked = line.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.split_once('@')?;
        let (user, _) = login.split_once(':').filter(|_| !login.contains(['/', '"', ' ']))?;
        Some(format!("{scheme}://{user}:{MASK}@{host}"))
    });
    masked.unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (line, shown) in [
            ("+    \"CORK_TOKEN\": \"cork_abc\"\n", "+    \"CORK_TOKEN\": ***\n"),
            ("     \"Authorization\": \"Bearer cork_abc\",\r\n", "     \"Authorization\": ***,\r\n"),
            ("+http_headers = { Authorization = \"Bearer cork_abc\" }\n", "+http_headers = { Authorization = ***}\n"),
            (" OPENAI_API_KEY: sk-1", " OPENAI_API_KEY: ***"),
            (" \"tokens\": {\n", " \"tokens\": {\n"),
            (" \"args\": [\"postgres://me:secret1@db/x\"]\n", " \"args\": [\"postgres://me:***@db/x\"]\n"),
            (" \"command\": \"/bin/x\"\n", " \"command\": \"/bin/x\"\n"),
        ] {
            assert_eq!(masked_line(line), shown);
        }
    }
}
