//! Parses server-sent events from bytes that arrive in arbitrary pieces.

use super::ModelError;

pub(super) struct Events {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether the last byte was a CR, which an LF may follow.
    after_return: bool,
    name: String,
    data: String,
    has_data: bool,
    limit: usize,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The event's name, or empty.
    pub(super) name: String,
    pub(super) data: String,
}

impl Events {
    pub(super) fn new(limit: usize) -> Self {
        Self { line: Vec::new(), after_return: false, name: String::new(), data: String::new(), has_data: false, limit }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ModelError> {
        let mut events = Vec::new();
        for &byte in bytes {
            let is_second = std::mem::replace(&mut self.after_return, byte == b'\r') && byte == b'\n';
            match byte {
                _ if is_second => {}
                b'\r' | b'\n' => events.extend(self.end_line()?),
                _ if self.line.len() + self.data.len() < self.limit => self.line.push(byte),
                _ => return Err(ModelError::TooLong { limit: self.limit as u64 }),
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Result<Option<Event>, ModelError> {
        let bytes = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&bytes).map_err(|error| ModelError::Malformed(error.to_string()))?;
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return Ok(std::mem::take(&mut self.has_data).then_some(Event { name, data }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.into(),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Comments, IDs and reconnection times.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.into(), data: data.into() }
    }

    const STREAM: &str = "\u{feff}: hello\n\nevent: a\ndata: one\ndata:two\n\ndata: grün\r\n\r\nid: 7\ndata\r\revent: b\n\n\
                          data: left";

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let expected = [event("a", "one\ntwo"), event("", "grün"), event("", "")];
        for size in 1..STREAM.len() {
            let mut events = Events::new(1000);
            let read: Vec<_> = STREAM.as_bytes().chunks(size).flat_map(|bytes| events.push(bytes).unwrap()).collect();
            assert_eq!(read, expected, "{size}");
        }
    }

    #[test]
    fn an_endless_line_or_event_is_not_kept() {
        assert_eq!(Events::new(100).push(&[b'x'; 101]), Err(ModelError::TooLong { limit: 100 }));
        let lines = "data: 0123456789\n".repeat(20);
        assert_eq!(Events::new(100).push(lines.as_bytes()), Err(ModelError::TooLong { limit: 100 }));
        let events = "data: 0123456789\n\n".repeat(20);
        assert_eq!(Events::new(100).push(events.as_bytes()).unwrap().len(), 20);
    }
}
