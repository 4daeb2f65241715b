//! A fast JSON writer for the most frequently stored records. It writes the same bytes as serde.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use jiff::Timestamp;
use jiff::tz::Offset;
use uuid::Uuid;

/// The nesting depth of arrays and objects in valid JSON. Not recursive, so no text can overflow the stack.
pub(crate) fn json_depth(json: &str) -> u64 {
    let (mut depth, mut deepest) = (0_u64, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// JSON that is being written.
pub(crate) struct JsonText {
    bytes: Vec<u8>,
    /// The last time that was written, and its position: the same time is often written twice.
    last_time: Option<(Timestamp, Range<usize>)>,
}

impl JsonText {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), last_time: None }
    }

    /// Adds text that is already JSON: names, brackets, commas, whole values.
    #[inline]
    pub(crate) fn raw(&mut self, json: &str) {
        self.bytes.extend_from_slice(json.as_bytes());
    }

    pub(crate) fn number(&mut self, number: u64) {
        let (mut digits, mut rest, mut count) = ([b'0'; 20], number, 0);
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            (rest, count) = (rest / 10, count + 1);
            if rest == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(digits.get(digits.len() - count..).unwrap_or_default());
    }

    pub(crate) fn text(&mut self, text: &str) {
        let needs_escape = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
        if text.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
            self.bytes.extend(serde_json::to_vec(text).unwrap_or_default());
            return;
        }
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(b'"');
    }

    /// The text, or null.
    pub(crate) fn optional_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.raw("null"),
        }
    }

    pub(crate) fn id(&mut self, id: Uuid) {
        let mut quoted = [b'"'; 38];
        if let Some(text) = quoted.get_mut(1..37) {
            id.hyphenated().encode_lower(text);
        }
        self.bytes.extend_from_slice(&quoted);
    }

    /// Writes a time with as many fractional digits as it needs.
    pub(crate) fn time(&mut self, at: Timestamp) {
        if let Some((last, written)) = self.last_time.clone()
            && last == at
        {
            return self.bytes.extend_from_within(written);
        }
        let start = self.bytes.len();
        self.new_time(at);
        self.last_time = Some((at, start..self.bytes.len()));
    }

    fn new_time(&mut self, at: Timestamp) {
        let civil = Offset::UTC.to_datetime(at);
        let Ok(year) = u16::try_from(civil.year()) else {
            // Years before our era are rare, so this need not be fast.
            self.bytes.extend(serde_json::to_vec(&at).unwrap_or_default());
            return;
        };
        let two_digits = |number: i8| [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        let [century, year, month, day] =
            [(year / 100) as i8, (year % 100) as i8, civil.month(), civil.day()].map(two_digits);
        let [hour, minute, second] = [civil.hour(), civil.minute(), civil.second()].map(two_digits);
        let date = [b'"', century[0], century[1], year[0], year[1], b'-', month[0], month[1], b'-', day[0], day[1]];
        let time = [b'T', hour[0], hour[1], b':', minute[0], minute[1], b':', second[0], second[1]];
        self.bytes.extend_from_slice(&date);
        self.bytes.extend_from_slice(&time);
        let mut fraction = *b".000000000";
        let mut rest = civil.subsec_nanosecond() as u32;
        for digit in fraction.iter_mut().rev().take(9) {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        let zeros = fraction.iter().rev().take_while(|digit| **digit == b'0').count();
        // Without digits there is no dot either.
        let fraction = fraction.split_at(if zeros == 9 { 0 } else { 10 - zeros }).0;
        self.bytes.extend_from_slice(fraction);
        self.raw("Z\"");
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn into_text(self) -> String {
        String::from_utf8(self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut JsonText)) -> String {
        let mut json = JsonText::with_capacity(0);
        write(&mut json);
        json.into_text()
    }

    #[test]
    fn depth_counts_arrays_and_objects_but_not_strings() {
        for (json, depth) in
            [("1", 0), ("\"[[[\"", 0), ("[]", 1), ("[[],[[]]]", 3), (r#"{"a":[{"b":"\"}]["}],"c\\":[]}"#, 3)]
        {
            assert_eq!(json_depth(json), depth, "{json}");
        }
        let deep = alloc::format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(json_depth(&deep), 100_000);
    }

    #[test]
    fn times_are_written_as_serde_writes_them() {
        let nanoseconds: [i128; 9] = [
            0,
            1,
            999,
            1_000_000,
            100_000_000,
            1_792_158_000_000_000_000,
            1_792_158_000_120_003_400,
            -1,
            -1_000_000_000,
        ];
        let ends = [Timestamp::MIN, Timestamp::MAX, "0000-01-01T00:00:00Z".parse().unwrap()];
        let times = nanoseconds.into_iter().map(|at| Timestamp::from_nanosecond(at).unwrap());
        for at in times.chain(ends) {
            assert_eq!(written(|json| json.time(at)), serde_json::to_string(&at).unwrap());
        }
    }

    #[test]
    fn a_time_is_written_again_only_where_it_is_the_same() {
        let [one, other] = [1, 2].map(|second| Timestamp::from_second(second).unwrap());
        let json = written(|json| {
            json.raw("[");
            for at in [one, one, other, one] {
                json.time(at);
                json.raw(",");
            }
        });
        let expected = [one, one, other, one].map(|at| serde_json::to_string(&at).unwrap()).join(",");
        assert_eq!(json, alloc::format!("[{expected},"));
    }

    proptest! {
        #[test]
        fn everything_is_written_as_serde_writes_it(
            number: u64, small in 0_u64..1000, text: String, plain in "[ -~é]*", bytes: [u8; 16],
            at in -9_000_000_000_000_000_000_i128..9_000_000_000_000_000_000, zeros in 0_u32..10,
        ) {
            let id = Uuid::from_bytes(bytes);
            let at = Timestamp::from_nanosecond(at / 10_i128.pow(zeros) * 10_i128.pow(zeros)).unwrap();
            prop_assert_eq!(written(|json| json.number(number)), serde_json::to_string(&number).unwrap());
            prop_assert_eq!(written(|json| json.number(small)), serde_json::to_string(&small).unwrap());
            prop_assert_eq!(written(|json| json.text(&text)), serde_json::to_string(&text).unwrap());
            prop_assert_eq!(written(|json| json.text(&plain)), serde_json::to_string(&plain).unwrap());
            prop_assert_eq!(written(|json| json.id(id)), serde_json::to_string(&id).unwrap());
            prop_assert_eq!(written(|json| json.time(at)), serde_json::to_string(&at).unwrap());
        }
    }
}
