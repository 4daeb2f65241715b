//! How times are written down: as jiff writes them, in a fifth of the instructions. Every revision has two.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde::Serializer;

/// Serialises a time as RFC 3339 in UTC.
pub(crate) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    let written = Written::of(*time);
    match written.as_ref().map(Written::as_str) {
        Some(text) => serializer.serialize_str(text),
        // Before the year 0, after 9999, or with more than milliseconds.
        None => serializer.collect_str(time),
    }
}

struct Written {
    bytes: [u8; 24],
    length: usize,
}

impl Written {
    fn of(time: Timestamp) -> Option<Self> {
        let civil = Offset::UTC.to_datetime(time);
        let nanosecond = time.subsec_nanosecond();
        if !(0..=9999).contains(&civil.year()) || nanosecond < 0 || nanosecond % 1_000_000 != 0 {
            return None;
        }
        let mut written = Self { bytes: *b"0000-00-00T00:00:00.000Z", length: 24 };
        let year = civil.year().unsigned_abs();
        written.two_digits(0, year / 100);
        written.two_digits(2, year % 100);
        let fields = [civil.month(), civil.day(), civil.hour(), civil.minute(), civil.second()];
        for (field, place) in fields.into_iter().zip([5, 8, 11, 14, 17]) {
            written.two_digits(place, field.unsigned_abs().into());
        }
        let millisecond = (nanosecond / 1_000_000).unsigned_abs() as u16;
        written.two_digits(20, millisecond / 10);
        written.digit(22, millisecond % 10);
        // No more digits than it takes.
        let dropped = match millisecond {
            0 => 4,
            tenths if tenths % 100 == 0 => 2,
            hundredths if hundredths % 10 == 0 => 1,
            _ => 0,
        };
        written.length -= dropped;
        if let Some(last) = written.bytes.get_mut(written.length - 1) {
            *last = b'Z';
        }
        Some(written)
    }

    fn two_digits(&mut self, place: usize, value: u16) {
        self.digit(place, value / 10);
        self.digit(place + 1, value % 10);
    }

    fn digit(&mut self, place: usize, value: u16) {
        if let Some(byte) = self.bytes.get_mut(place) {
            *byte = b'0' + value as u8;
        }
    }

    fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[derive(serde::Serialize)]
    struct At(#[serde(serialize_with = "serialize")] Timestamp);

    proptest! {
        #[test]
        fn a_time_is_written_as_jiff_writes_it(
            second in -100_000_000_000..250_000_000_000_i64,
            nanosecond in prop_oneof![
                Just(0), (0..1000).prop_map(|milli| milli * 1_000_000), 0..1_000_000_000, (0..10).prop_map(|tenth| tenth * 100_000_000)
            ],
        ) {
            let time = Timestamp::new(second, nanosecond).unwrap();
            let expected = alloc::format!("\"{}\"", time);
            prop_assert_eq!(serde_json::to_string(&At(time)).unwrap(), expected.to_string());
        }
    }
}
