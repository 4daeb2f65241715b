//! Reading a snapshot whole.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use corkboard::{Limits, SnapshotError, SnapshotForm};

use crate::atomic_file::file_error;
use crate::error::CliError;
use crate::text_input::is_dash;

/// All bytes of a file, or of stdin. What is too large for any snapshot is not read to its end.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    let allowed = SnapshotForm::most_bytes(&Limits::default());
    let bytes = match is_dash(file) {
        true => read_one_more(std::io::stdin(), allowed),
        false => File::open(file).and_then(|file| read_one_more(file, allowed)),
    };
    let bytes = bytes.map_err(|error| file_error(file, &error))?;
    if bytes.len() as u64 > allowed {
        let too_large = SnapshotError::TooLarge { bytes: bytes.len() as u64, allowed };
        return Err(CliError::Library(too_large.into()));
    }
    Ok(bytes)
}

/// Reads what is allowed, and one byte more to notice that it is too much.
fn read_one_more(from: impl Read, allowed: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(allowed.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read_to_its_end() {
        assert_eq!(read_one_more(std::io::repeat(7), 10).unwrap(), [7; 11]);
        assert_eq!(read_one_more(&[7; 10][..], 10).unwrap(), [7; 10]);
    }
}
