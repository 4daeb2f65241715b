//! Encodes bytes inside JSON in the most readable form, so that reading returns exactly the same bytes.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::store::Record;

/// Bytes in a line of the log, as one of three fields.
#[derive(Debug, Default)]
pub(super) struct ReadableBytes<'a> {
    /// The bytes are one line of JSON, as is everything that Corkboard writes.
    pub(super) json: Option<&'a RawValue>,
    /// The bytes are text.
    pub(super) text: Option<Cow<'a, str>>,
    /// The bytes are neither.
    pub(super) hex: Option<Cow<'a, str>>,
}

impl<'a> ReadableBytes<'a> {
    /// The most readable form.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        match as_json(bytes) {
            Some(json) => Self { json: Some(json), ..Self::default() },
            None => match str::from_utf8(bytes) {
                Ok(text) => Self::text(text),
                Err(_) => Self::hex(bytes),
            },
        }
    }

    /// Splits bytes into parts, at least one, each of which takes at most [`Record::PART_BYTES`] in its line.
    pub(super) fn parts(bytes: &'a [u8]) -> Vec<Self> {
        if bytes.len() <= Record::PART_BYTES
            && let Some(json) = as_json(bytes)
        {
            return vec![Self { json: Some(json), ..Self::default() }];
        }
        match str::from_utf8(bytes) {
            Ok(text) => text_parts(text).into_iter().map(Self::text).collect(),
            Err(_) => bytes.chunks(Record::PART_BYTES / 2).map(Self::hex).collect(),
        }
    }

    fn text(text: &'a str) -> Self {
        Self { text: Some(Cow::Borrowed(text)), ..Self::default() }
    }

    fn hex(bytes: &[u8]) -> Self {
        let digit = |half: u8| char::from_digit(u32::from(half), 16);
        let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).flatten();
        Self { hex: Some(Cow::Owned(digits.collect())), ..Self::default() }
    }

    /// Decodes the bytes; `None` if no field is set.
    pub(super) fn bytes(&self) -> Result<Option<Cow<'_, [u8]>>, String> {
        if let Some(json) = self.json {
            return Ok(Some(Cow::Borrowed(json.get().as_bytes())));
        }
        if let Some(text) = &self.text {
            return Ok(Some(Cow::Borrowed(text.as_bytes())));
        }
        let Some(hex) = &self.hex else { return Ok(None) };
        let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
        let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> = pairs.iter().map(|pair| byte(pair)).collect();
        let bytes = bytes.filter(|_| odd.is_empty());
        bytes.map(|bytes| Some(Cow::Owned(bytes))).ok_or_else(|| "invalid hexadecimal digits".into())
    }
}

/// Returns the bytes as a JSON value, if they are exactly one value without line breaks.
fn as_json(bytes: &[u8]) -> Option<&RawValue> {
    let json: &RawValue = serde_json::from_slice(bytes).ok()?;
    let whole = json.get().len() == bytes.len() && !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    whole.then_some(json)
}

/// Splits a text into parts that are short enough even when escaped.
fn text_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut rest, mut length, mut index) = (text, 0, 0);
    for character in text.chars() {
        let escaped = match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..' ' => 6,
            _ => character.len_utf8(),
        };
        if length + escaped > Record::PART_BYTES {
            let (part, after) = rest.split_at(index);
            parts.push(part);
            (rest, length, index) = (after, 0, 0);
        }
        length += escaped;
        index += character.len_utf8();
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(bytes: &[u8]) -> &'static str {
        let form = ReadableBytes::of(bytes);
        assert_eq!(form.bytes().unwrap().unwrap(), bytes);
        match (form.json, form.text, form.hex) {
            (Some(_), None, None) => "json",
            (None, Some(_), None) => "text",
            (None, None, Some(_)) => "hex",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bytes_take_the_most_readable_form() {
        for json in ["{}", "null", "1e999", "\"\\ud800\"", "[1 , 2]", "{\"a\":\"\u{2028}\"}"] {
            assert_eq!(form(json.as_bytes()), "json", "{json}");
        }
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(form(deep.as_bytes()), "json");
        for text in ["", " 1", "1 ", "{\n}", "[1,\r2]", "{\"a\"", "a secret", "\0"] {
            assert_eq!(form(text.as_bytes()), "text", "{text:?}");
        }
        assert_eq!(form(&[0xff, 0, 0x7f]), "hex");
    }

    #[test]
    fn parts_are_short_enough_and_complete() {
        let length = Record::PART_BYTES;
        let quotes = "\"\u{1}é\\".repeat(length / 4);
        let json = format!("\"{}\"", "x".repeat(length - 2));
        for (bytes, count) in [
            (vec![], 1),
            (json.clone().into_bytes(), 1),
            (format!("{json} ").into_bytes(), 2),
            (vec![b'a'; length], 1),
            (vec![b'a'; length + 1], 2),
            (vec![0xff; length], 2),
            (vec![0xff; length + 1], 3),
            (quotes.into_bytes(), 4),
        ] {
            let parts = ReadableBytes::parts(&bytes);
            assert_eq!(parts.len(), count);
            let mut whole = Vec::new();
            for part in &parts {
                whole.extend_from_slice(&part.bytes().unwrap().unwrap());
                let text = part.text.as_ref().map(|text| serde_json::to_string(text).unwrap().len() - 2);
                assert!(text.or(part.hex.as_ref().map(|hex| hex.len())).is_none_or(|written| written <= length));
            }
            assert!(whole == bytes);
        }
        for wrong in ["0g", "012", "ä"] {
            assert!(ReadableBytes { hex: Some(wrong.into()), ..ReadableBytes::default() }.bytes().is_err(), "{wrong}");
        }
    }
}
