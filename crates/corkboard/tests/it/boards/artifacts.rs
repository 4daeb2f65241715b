//! Checksums and sizes of artifacts.

use corkboard::boards::{ArtifactType, NewArtifact};
use corkboard::{Error, LimitName, NoChecksum, Refusal};

use super::new_board;
use crate::common::{Home, limit, refusal};

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn artifact(path: &str) -> NewArtifact {
    NewArtifact { kind: ArtifactType::Code, path: path.into(), ..NewArtifact::default() }
}

/// A path in the folder, and what is expected to be recorded.
struct Case {
    path: &'static str,
    known: Option<(&'static str, u64)>,
}

#[tokio::test]
async fn an_existing_file_gets_its_checksum_and_size() {
    let corkboard = Home::memory().open().await;
    let board = corkboard.create_board(new_board("artifacts")).await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("inside");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/abc.txt"), "abc").unwrap();
    std::fs::write(folder.join("empty"), "").unwrap();
    std::fs::write(outside.path().join("secret"), "abc").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.join("link-out")).unwrap();
        std::os::unix::fs::symlink(folder.join("empty"), folder.join("link-in")).unwrap();
    }
    let cases = [
        Case { path: "src/abc.txt", known: Some((ABC, 3)) },
        Case { path: "./src/../src/abc.txt", known: Some((ABC, 3)) },
        Case { path: "empty", known: Some((EMPTY, 0)) },
        Case { path: "link-in", known: Some((EMPTY, 0)) },
        Case { path: "link-out", known: None },
        Case { path: "../secret", known: None },
        Case { path: "/etc/hostname", known: None },
        Case { path: "src", known: None },
        Case { path: "src/abc.txt/deeper", known: None },
        Case { path: "not/there", known: None },
        Case { path: "https://example.org/spec", known: None },
    ];
    for Case { path, known } in cases {
        let (id, _) = board.record_artifact(artifact(path)).in_folder(&folder).await.unwrap();
        let view = board.view().await.unwrap();
        let recorded = view.state().artifact(id).unwrap();
        let expected = (known.map(|(checksum, _)| checksum), known.map(|(_, size)| size));
        assert_eq!((recorded.checksum.as_deref(), recorded.size), expected, "{path}");
    }
    // Without a folder, the file is not read.
    let (id, version) = board.record_artifact(artifact("src/abc.txt")).await.unwrap();
    assert_eq!((version, &board.view().await.unwrap().state().artifact(id).unwrap().checksum), (3, &None));
    let gone = board.record_artifact(artifact("a")).in_folder(folder.join("gone")).await.unwrap();
    assert_eq!(board.view().await.unwrap().state().artifact(gone.0).unwrap().size, None);
}

#[tokio::test]
async fn a_large_file_is_read_piece_by_piece() {
    let corkboard = Home::memory().open().await;
    let board = corkboard.create_board(new_board("artifacts")).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("million"), "a".repeat(1_000_000)).unwrap();
    // The long test vector of FIPS 180.
    let known = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    let given = NewArtifact { checksum: Some(known.to_uppercase()), size: Some(1_000_000), ..artifact("million") };
    let (id, _) = board.record_artifact(given).in_folder(folder.path()).await.unwrap();
    let view = board.view().await.unwrap();
    let recorded = view.state().artifact(id).unwrap();
    assert_eq!((recorded.checksum.as_deref(), recorded.size), (Some(known), Some(1_000_000)));
}

#[tokio::test]
async fn a_text_on_the_board_gets_its_checksum_and_has_a_limit() {
    let corkboard = Home::memory().open().await;
    let board = corkboard.create_board(new_board("artifacts")).await.unwrap();
    let (id, _) = board.record_artifact(NewArtifact { content: Some("abc".into()), ..artifact("x") }).await.unwrap();
    let view = board.view().await.unwrap();
    let recorded = view.state().artifact(id).unwrap();
    assert_eq!((recorded.checksum.as_deref(), recorded.size), (Some(ABC), Some(3)));
    let whole = NewArtifact { content: Some("x".repeat(64 * 1024)), ..artifact("x") };
    assert_eq!(board.record_artifact(whole).await.unwrap().1, 2);
    let more = NewArtifact { content: Some("x".repeat(64 * 1024 + 1)), ..artifact("x") };
    assert_eq!(refusal(board.record_artifact(more).await), limit(LimitName::InlineBytes, 65537, 65536));
}

#[tokio::test]
async fn an_artifact_that_contradicts_its_bytes_is_not_recorded() {
    let corkboard = Home::memory().open().await;
    let board = corkboard.create_board(new_board("artifacts")).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("abc"), "abc").unwrap();
    let rev = board.view().await.unwrap().rev();
    let wrong = NewArtifact { checksum: Some(EMPTY.into()), ..artifact("abc") };
    let error = board.record_artifact(wrong).in_folder(folder.path()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("the SHA-256 of \"abc\" is {ABC}, not {EMPTY}"));
    assert_eq!(error.code(), "artifact_differs");
    let wrong = NewArtifact { size: Some(4), ..artifact("abc") };
    let error = board.record_artifact(wrong).in_folder(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::ArtifactDiffers { what: "size", .. }));
    let wrong = NewArtifact { checksum: Some(EMPTY.into()), content: Some("abc".into()), ..artifact("x") };
    assert_eq!(board.record_artifact(wrong).await.unwrap_err().code(), "artifact_differs");
    // The content on the board differs from the file with that name.
    let wrong = NewArtifact { content: Some("abd".into()), ..artifact("abc") };
    assert_eq!(board.record_artifact(wrong).in_folder(folder.path()).await.unwrap_err().code(), "artifact_differs");
    let wrong = NewArtifact { checksum: Some("abc".into()), ..artifact("elsewhere") };
    assert!(matches!(refusal(board.record_artifact(wrong).await), Refusal::Checksum { .. }));
    assert_eq!(board.view().await.unwrap().rev(), rev);
}

#[tokio::test]
async fn one_file_is_one_artifact_however_its_path_is_written() {
    let corkboard = Home::memory().open().await;
    let board = corkboard.create_board(new_board("artifacts")).await.unwrap();
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("inside");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/abc.txt"), "abc").unwrap();
    std::fs::write(outside.path().join("secret"), "abc").unwrap();
    let absolute = folder.join("src/abc.txt");
    let linked = outside.path().join("link");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&folder, &linked).unwrap();
    let through_link = linked.join("src/abc.txt");
    let spellings = ["src/abc.txt", "./src/abc.txt", "x/../src/abc.txt", "../inside/src//abc.txt"];
    let spellings = spellings.into_iter().chain([absolute.to_str().unwrap(), through_link.to_str().unwrap()]);
    for (expected, path) in (1..).zip(spellings) {
        let (id, version) = board.record_artifact(artifact(path)).in_folder(&folder).await.unwrap();
        assert_eq!(version, expected, "{path}");
        let view = board.view().await.unwrap();
        let recorded = view.state().artifact(id).unwrap();
        assert_eq!((&*recorded.path, recorded.checksum.as_deref()), ("src/abc.txt", Some(ABC)), "{path}");
    }
    // After a symbolic link to a folder, `..` leads to another file than the text suggests.
    #[cfg(unix)]
    {
        std::fs::create_dir(outside.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("elsewhere"), folder.join("out")).unwrap();
        std::fs::write(folder.join("secret"), "not this one").unwrap();
        let led_out = board.record_artifact(artifact("out/../secret")).in_folder(&folder).recorded().await.unwrap();
        assert_eq!(led_out.no_checksum, Some(NoChecksum::OutsideFolder), "{led_out:?}");
    }
    let blank = board.record_artifact(artifact("")).in_folder(&folder).await.unwrap_err();
    assert_eq!(blank.code(), "blank", "{blank}");
    // Without a folder, only the text of the path counts.
    assert_eq!(board.record_artifact(artifact("./src/abc.txt")).await.unwrap().1, 7);
    assert_eq!(board.record_artifact(artifact("https://example.org/a/../b")).await.unwrap().1, 1);
    assert_eq!(board.record_artifact(artifact("https://example.org/b")).await.unwrap().1, 1);
}
