//! Exports that were truncated, changed or forged: each problem is reported with its line, and nothing damaged is
//! written.

use corkboard::store::{Append, Appended, MemoryStore, Record, Snapshot, Store, Trim};
use corkboard::transfer::format::LINE_BYTES;
use corkboard::transfer::{
    ImportMode, ImportOutcome, Imported, Spaces, TransferError, TransferProgress, check, export, import,
};
use corkboard::{CommitId, ErrorKind, Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use tokio::io::AsyncReadExt;
use uuid::Uuid;

fn nobody(_: &TransferProgress) {}

/// A store with three spaces: one with JSON and a due date, one with other bytes, and one with a trimmed log and its
/// snapshot.
async fn original() -> MemoryStore {
    let store = MemoryStore::new();
    for (name, bodies) in [
        ("json", [b"{\"a\":1}".as_slice(), b"{\"a\":[1.50,null]}", b"\"\\u0041\""]),
        ("other", [b"", b"\x00\xff\n", b" {} "]),
        ("trimmed", [b"{}", b"[]", b"0"]),
    ] {
        let records = (1..).zip(bodies).map(|(rev, body)| Record {
            rev,
            commit: CommitId(Uuid::from_u128(u128::from(rev) * 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef)),
            at: Timestamp::from_millisecond(1_700_000_000_123 + rev as i64).unwrap(),
            body: body.to_vec(),
        });
        let append = Append {
            space: SpaceId::of(SpaceKind::Agent, name),
            expected: Head::EMPTY,
            records: records.collect(),
            next_due: (name == "json").then_some(Timestamp::from_second(2_000_000_000).unwrap()),
            summary: b"{\"entries\":3}".to_vec(),
        };
        let head = Head { rev: 2, commit: append.records[1].commit };
        let space = append.space.clone();
        assert_eq!(store.append(append).await, Ok(Appended::Committed));
        if name == "trimmed" {
            store.write_snapshot(&space, Snapshot { head, body: b"{\"state\":2}".to_vec() }).await.unwrap();
            store.trim(&space, Trim { up_to: 2, older_than: None }).await.unwrap();
        }
    }
    store
}

async fn exported(store: &MemoryStore) -> String {
    let mut file = Vec::new();
    export(store, &Spaces::All, &mut file, &mut nobody).await.unwrap();
    String::from_utf8(file).unwrap()
}

/// The lines of each space.
fn spaces(file: &str) -> Vec<Vec<&str>> {
    let mut spaces: Vec<Vec<&str>> = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with("{\"export\"") && !line.starts_with("{\"total\"")) {
        if line.starts_with("{\"space\"") {
            spaces.push(Vec::new());
        }
        spaces.last_mut().unwrap().push(line);
    }
    spaces
}

/// Imports a file into an empty store. Each imported space must equal the original, whole.
async fn import_some(original: &str, file: &[u8]) -> Result<Imported, TransferError> {
    let store = MemoryStore::new();
    let imported = import(&store, file, ImportMode::Write, &mut nobody).await;
    let copy = exported(&store).await;
    let (original, copy) = (spaces(original), spaces(&copy));
    for space in &copy {
        assert!(original.contains(space), "{space:?}\n{}", String::from_utf8_lossy(file));
    }
    if let Ok(imported) = &imported {
        let new = imported.spaces.iter().filter(|space| space.outcome == ImportOutcome::New);
        assert_eq!(new.count(), copy.len());
        let checked = check(file, &mut nobody).await.unwrap();
        assert_eq!(checked.problems.len(), imported.problems.len(), "a check reports the same problems as an import");
    }
    imported
}

#[tokio::test]
async fn every_flipped_bit_is_noticed() {
    let file = exported(&original().await).await;
    let header = file.find('\n').unwrap();
    assert_eq!(import_some(&file, file.as_bytes()).await.unwrap().problems.len(), 0);
    let mut kept = 0;
    for at in 0..file.len() {
        let mut bytes = file.clone().into_bytes();
        bytes[at] ^= 1;
        match import_some(&file, &bytes).await {
            // The export's time and source are informational only.
            Ok(imported) if at < header => assert_eq!(imported.spaces.len(), 3),
            Ok(imported) => {
                assert!(!imported.problems.is_empty(), "{}", String::from_utf8_lossy(&bytes));
                kept += imported.spaces.len();
            }
            Err(error) => {
                let told = matches!(error, TransferError::NotAnExport(_) | TransferError::NewerVersion { .. });
                assert!(told && at <= header, "{error}");
            }
        }
    }
    // A flipped bit loses at most one space, or two if it hit the line between them.
    assert!(kept > 2 * (file.len() - header - 100), "{kept}");
}

#[tokio::test]
async fn every_truncated_file_is_noticed() {
    let file = exported(&original().await).await;
    let header = file.find('\n').unwrap();
    // A missing last newline does no harm.
    for end in 0..file.len() - 1 {
        match import_some(&file, &file.as_bytes()[..end]).await {
            Ok(imported) => {
                let error = &imported.problems[0].error;
                assert!(matches!(error, TransferError::Truncated { .. }), "{error}");
                assert_eq!((imported.problems.len(), error.kind()), (1, ErrorKind::Damaged));
                let whole = file[..end].matches("{\"end\"").count();
                assert!([whole, whole.saturating_sub(1)].contains(&imported.spaces.len()));
            }
            Err(error) => assert!(matches!(error, TransferError::NotAnExport(_)) && end < header, "{error}"),
        }
    }
    assert_eq!(import_some(&file, file.trim_end().as_bytes()).await.unwrap().problems.len(), 0);
}

#[tokio::test]
async fn lines_that_are_missing_doubled_or_swapped_are_noticed() {
    let file = exported(&original().await).await;
    let lines: Vec<&str> = file.lines().collect();
    for at in 1..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        let mut swapped = lines.clone();
        swapped.swap(at, at - 1);
        for changed in [without, doubled, swapped] {
            let changed = changed.join("\n");
            match import_some(&file, changed.as_bytes()).await {
                Ok(imported) => assert!(!imported.problems.is_empty(), "{changed}"),
                Err(error) => assert!(matches!(error, TransferError::NotAnExport(_)) && at == 1, "{error}"),
            }
        }
    }
    // A missing or repeated space is valid by itself, but the total is wrong.
    let [first, second, third] = spaces(&file).try_into().unwrap();
    for some in [vec![&first, &third], vec![&first, &second, &second, &third]] {
        let middle = some.into_iter().flatten().copied();
        let changed: Vec<&str> = [lines[0]].into_iter().chain(middle).chain([*lines.last().unwrap()]).collect();
        let imported = import_some(&file, changed.join("\n").as_bytes()).await;
        let problems = match imported {
            Ok(imported) => imported.problems,
            Err(error) => panic!("{error}"),
        };
        assert!(matches!(problems[0].error, TransferError::Totals { .. }), "{problems:?}");
    }
}

/// The only problem of a file, as text.
async fn problem(file: &str) -> String {
    let store = MemoryStore::new();
    let imported = import(&store, file.as_bytes(), ImportMode::Write, &mut nobody).await.unwrap();
    assert_eq!(spaces(&exported(&store).await), Vec::<Vec<&str>>::new(), "a damaged export writes nothing");
    let [problem] = imported.problems.as_slice() else { panic!("{file}\n{:?}", imported.problems) };
    problem.error.to_string()
}

#[tokio::test]
async fn invalid_lines_are_reported_with_their_number() {
    const HEADER: &str =
        r#"{"export":{"format":"corkboard","version":1,"at":"2026-11-02T09:00:00Z","store":"memory","spaces":1}}"#;
    const COMMIT: &str = "00000000-0000-0000-0000-000000000001";
    let none = format!(r#"{{"rev":0,"commit":"{}"}}"#, Uuid::nil());
    let head = |rev: u64| format!(r#"{{"rev":{rev},"commit":"{COMMIT}"}}"#);
    let space = |id: &str, head: &str| {
        format!(r#"{{"space":{{"id":"{id}","born":{none},"head":{head},"next_due":null,"summary":{{}}}}}}"#)
    };
    let good = space("agent/a", &head(9));
    let record = |rev: u64| {
        format!(r#"{{"record":{{"rev":{rev},"commit":"{COMMIT}","at":"2026-11-02T09:00:00Z","body":{{}}}}}}"#)
    };
    let snapshot = |rev: u64| format!(r#"{{"snapshot":{{"rev":{rev},"commit":"{COMMIT}","body":{{}}}}}}"#);
    let total = r#"{"total":{"spaces":0,"records":0,"bytes":0,"checksum":"0000000000000000000000000000000000000000000000000000000000000000"}}"#;
    let long_id = format!("agent/{}", "x".repeat(2000));
    let long_word = format!(r#"{{"{}":1}}"#, "y".repeat(5000));
    for (lines, said) in [
        (vec!["nonsense".into()], "line 2: not JSON (at byte 1)"),
        (vec![String::new()], "line 2: not JSON (at byte 0)"),
        (vec!["[]".into()], "line 2: expected a string or a JSON object"),
        (vec!["7".into()], "line 2: "),
        (vec![r#"{"space":7}"#.into()], "line 2: expected a JSON object, found 7"),
        (vec![r#"{"space":{"id":7}}"#.into()], "line 2: expected a string, found 7"),
        (vec![r#"{"spice":{}}"#.into()], "line 2: unknown value `spice`"),
        (vec![long_word], "line 2: unknown value `yyyy"),
        (vec![HEADER.into()], "line 2: unexpected header of the file: it belongs in line 1 (is the file damaged?)"),
        (
            vec![record(1)],
            "line 2: unexpected record: the header of its agent, board or core is missing (is the file damaged?)",
        ),
        (vec![space("galaxy/a", &head(9))], "line 2: space \"galaxy/a\" has a kind that this Corkboard does not know"),
        (vec![space("a", &head(9))], "line 2: space \"a\" has a kind"),
        (vec![space("agent/", &head(9))], "line 2: invalid space ID \"agent/\""),
        (vec![space("agent/a\\nb", &head(9))], "line 2: invalid space ID \"agent/a\\nb\""),
        (vec![space(&long_id, &head(9))], "line 2: invalid space ID \"agent/xxx"),
        (vec![space("agent/a", &head(0))], "line 2: a log cannot go from revision 0 to 0"),
        (vec![space("agent/a", &head(u64::MAX))], "line 2: a log cannot go from revision 0 to 18446744073709551615"),
        (vec![space("agent/a", "null")], "line 2: expected a JSON object, found null"),
        (
            vec![good.replace("{}}}", &format!("\"{}\"}}}}", "s".repeat(4096)))],
            "line 2: a summary has at most 4096 bytes",
        ),
        (vec![good.replace(r#","summary":{}"#, "")], "line 2: expected either JSON or base64"),
        (vec![good.clone(), record(2)], "line 3: the log cannot begin with revision 2"),
        (vec![good.clone(), record(0)], "line 3: the log cannot begin with revision 0"),
        (vec![good.clone(), record(u64::MAX)], "line 3: the log cannot begin with revision 18446744073709551615"),
        (vec![good.clone(), record(1), record(1)], "line 4: revision 1 follows 1"),
        (vec![good.clone(), record(1), record(3)], "line 4: revision 3 follows 1"),
        (vec![space("agent/a", &head(1)), record(1), record(2)], "line 4: revision 2 is beyond the head"),
        (vec![good.clone(), record(1).replace(r#","body":{}"#, "")], "line 3: expected either JSON or base64"),
        (vec![good.clone(), record(1).replace(r#""body":{}"#, r#""base64":"*""#)], "line 3: not base64"),
        (vec![good.clone(), record(1).replace("body", "extra")], "line 3: unknown field `extra`"),
        (vec![good.clone(), record(1).replace("2026-", "soon-")], "line 3: "),
        (vec![good.clone(), snapshot(10)], "line 3: the snapshot's revision 10 is not in this log"),
        (vec![good.clone(), snapshot(0)], "line 3: the snapshot's revision 0 is not in this log"),
        (vec![good.clone(), snapshot(2), snapshot(3)], "line 4: a space has at most one snapshot, before its records"),
        (vec![good.clone(), record(1), snapshot(1)], "line 4: a space has at most one snapshot, before its records"),
        (vec![good.clone(), snapshot(3), record(5)], "line 4: the log cannot begin with revision 5"),
        (
            vec![good.clone(), snapshot(1).replace("01\"", "02\""), record(1)],
            "line 4: the snapshot belongs to another commit",
        ),
        (
            vec![good.clone(), good.clone().replace("/a", "/")],
            "line 3: unexpected header of an agent, board or core: the end of the previous one is missing (is the file damaged?)",
        ),
        (
            vec![good.clone()],
            "line 3: unexpected end of the file: the end of the last agent, board or core is missing (is the file damaged?)",
        ),
    ] {
        let file = [&[HEADER.to_owned()], lines.as_slice(), &[total.to_owned()]].concat().join("\n");
        let problem = problem(&file).await;
        assert!(problem.starts_with(said), "{problem}\n{said}");
        assert!(problem.len() < 400, "{problem}");
    }
}

#[tokio::test]
async fn other_files_are_not_read() {
    let store = MemoryStore::new();
    for (file, code, said) in [
        ("", "not_an_export", "it is empty"),
        ("\n", "not_an_export", "line 1 is not JSON"),
        ("SQLite format 3\0", "not_an_export", "line 1 is not JSON"),
        ("{\"total\":{}}", "not_an_export", "missing field `export` (at byte 12)"),
        ("{\"export\":{\"format\":\"other\",\"version\":1}}", "not_an_export", "it belongs to another program"),
        ("{\"export\":{\"format\":\"corkboard\",\"version\":1}}", "not_an_export", "missing field `at` (at byte 44)"),
        ("{\"export\":{\"format\":\"corkboard\",\"version\":2,\"new\":[]}}", "newer_format", "is in version 2; this"),
        (
            "{\"export\":{\"format\":\"corkboard\",\"version\":-1}}",
            "not_an_export",
            "expected a whole number that is not negative, found -1",
        ),
    ] {
        let error = import(&store, file.as_bytes(), ImportMode::Write, &mut nobody).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped() {
    let file = exported(&original().await).await;
    let (header, rest) = file.split_once('\n').unwrap();
    // A line longer than the maximum, then the rest of a valid file.
    let too_long = tokio::io::repeat(b' ').take(LINE_BYTES as u64 + 1);
    let reader = header.as_bytes().chain(&b"\n"[..]).chain(too_long).chain(&b"\n"[..]).chain(rest.as_bytes());
    let reader = tokio::io::BufReader::with_capacity(1 << 20, reader);
    let store = MemoryStore::new();
    let imported = import(&store, reader, ImportMode::Write, &mut nobody).await.unwrap();
    let [problem] = imported.problems.as_slice() else { panic!("{:?}", imported.problems) };
    assert!(matches!(problem.error, TransferError::LineTooLong { line: 2 }), "{:?}", problem.error);
    assert_eq!((problem.error.kind(), imported.spaces.len()), (ErrorKind::Limit, 3));
}

#[tokio::test]
async fn a_file_that_is_damaged_all_over_is_given_up() {
    let file = exported(&original().await).await;
    let header = file.lines().next().unwrap();
    let end = file.lines().find(|line| line.starts_with("{\"end\"")).unwrap();
    let garbage = format!("garbage\n{end}\n").repeat(2000);
    let store = MemoryStore::new();
    let damaged = format!("{header}\n{garbage}");
    let error = import(&store, damaged.as_bytes(), ImportMode::Write, &mut nobody).await.unwrap_err();
    assert!(matches!(error, TransferError::TooDamaged { line: 2002 }), "{error}");
}

#[tokio::test]
async fn a_failed_writer_and_a_failed_reader_are_distinguished() {
    let store = original().await;
    let (reader, writer) = tokio::io::duplex(64);
    drop(reader);
    let error = export(&store, &Spaces::All, writer, &mut nobody).await.unwrap_err();
    assert!(matches!(&error, TransferError::Write(error) if error.kind() == std::io::ErrorKind::BrokenPipe), "{error}");
    let file = std::fs::File::open(std::env::temp_dir()).unwrap();
    let reader = tokio::io::BufReader::new(tokio::fs::File::from_std(file));
    let error = import(&store, reader, ImportMode::Write, &mut nobody).await.unwrap_err();
    assert!(matches!(error, TransferError::Read(_)), "a folder cannot be read as a file: {error}");
}

/// Both can run in a task that moves between threads.
#[tokio::test]
async fn a_transfer_can_be_spawned() {
    let (reader, writer) = tokio::io::duplex(1000);
    let exporting = tokio::spawn(async move {
        let store = original().await;
        export(&store, &Spaces::All, writer, &mut |_| {}).await.unwrap()
    });
    let importing = tokio::spawn(async move {
        let store = MemoryStore::new();
        let reader = tokio::io::BufReader::new(reader);
        import(&store, reader, ImportMode::Write, &mut |_| {}).await.unwrap().spaces.len()
    });
    assert_eq!(exporting.await.unwrap().spaces, 3);
    assert_eq!(importing.await.unwrap(), 3);
}
