//! Reads an export line by line, from any reader.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use super::TransferError;
use super::format::LINE_BYTES;

/// Bytes of line buffer that are kept after a long line.
const KEPT_BYTES: usize = 1024 * 1024;

pub(super) struct LineReader<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
    limit: usize,
}

pub(super) struct FoundLine<'a> {
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
    /// Whether it ended with a newline. The last line of a file that was cut off does not.
    pub(super) is_whole: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), number: 0, limit: LINE_BYTES }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next line. A line that is too long is skipped, and is an error.
    pub(super) async fn next(&mut self) -> Result<Option<FoundLine<'_>>, TransferError> {
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        let (mut is_whole, mut is_too_long) = (false, false);
        while !is_whole {
            let found = self.reader.fill_buf().await.map_err(TransferError::Read)?;
            if found.is_empty() {
                break;
            }
            let (part, used) = match found.iter().position(|byte| *byte == b'\n') {
                Some(end) => (found.get(..end).unwrap_or_default(), end + 1),
                None => (found, found.len()),
            };
            is_whole = used > part.len();
            if self.line.len() + part.len() > self.limit {
                is_too_long = true;
                self.line = Vec::new();
            }
            if !is_too_long {
                self.line.extend_from_slice(part);
            }
            self.reader.consume(used);
        }
        if !is_whole && !is_too_long && self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if is_too_long {
            return Err(TransferError::LineTooLong { line: self.number });
        }
        Ok(Some(FoundLine { number: self.number, bytes: &self.line, is_whole }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &str, limit: usize) -> Vec<Result<String, u64>> {
        let mut reader =
            LineReader { limit, ..LineReader::new(tokio::io::BufReader::with_capacity(3, text.as_bytes())) };
        let mut lines = Vec::new();
        loop {
            match reader.next().await {
                Ok(None) => return lines,
                Ok(Some(line)) => {
                    let end = if line.is_whole { "|" } else { "" };
                    lines.push(Ok(format!("{} {}{end}", line.number, String::from_utf8_lossy(line.bytes))));
                }
                Err(TransferError::LineTooLong { line }) => lines.push(Err(line)),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[tokio::test]
    async fn lines_have_numbers_and_an_end() {
        assert_eq!(lines("", 9).await, []);
        assert_eq!(
            lines("a\n\nlonger\nend", 9).await,
            ["1 a|", "2 |", "3 longer|", "4 end"].map(|line| Ok(line.into()))
        );
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped() {
        assert_eq!(
            lines("ab\n123456789\ncd\n12345678901", 8).await,
            [Ok("1 ab|".into()), Err(2), Ok("3 cd|".into()), Err(4)]
        );
    }
}
