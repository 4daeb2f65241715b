//! `cork notebook`.

use serde_json::json;

use crate::support::Sandbox;

const FIRST: &str = "\
Here is the update:

```
CURRENT_PROGRESS:
  In Progress:
    - write the parser
KEY_LEARNINGS:
  ADD:
    - because it bit us: tabs count as two
VERBATIM_CONTEXT:
  ADD:
    - because the tests need it: Cargo.toml =>
      [dependencies]
        insta = \"1\"
```
";

const SECOND: &str = "\
CURRENT_PROGRESS:
  Completed:
    - write the parser
  In Progress:
    - write the printer
KEY_LEARNINGS:
  ARCHIVE:
    - KL-1 because it is in the docs now
";

fn apply(sandbox: &Sandbox, text: &str, arguments: &[&str]) -> crate::support::Ran {
    sandbox.cork_with_stdin(&[&["notebook", "apply", "-"], arguments].concat(), text.as_bytes())
}

#[test]
fn a_notebook_is_applied_shown_and_restored() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["notebook", "show"]), "notebook main is empty");
    assert_eq!(sandbox.ok(&["notebook", "list"]), "default has no notebooks");
    let ran = apply(&sandbox, FIRST, &[]);
    let changes = "\
In Progress: + write the parser
KL-1 added: tabs count as two (because it bit us)
VC-1 added: Cargo.toml, 2 lines, 28 bytes (because the tests need it)
";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, changes, ""));
    std::fs::write(sandbox.path().join("second.txt"), SECOND).unwrap();
    let second = "\
In Progress -> Completed: write the parser
In Progress: + write the printer
KL-1 archived: tabs count as two (because it is in the docs now)";
    assert_eq!(sandbox.ok(&["notebook", "apply", "second.txt"]), second);
    let shown = "\
Completed:
  - write the parser
In Progress:
  - write the printer
VC-1  Cargo.toml (because the tests need it)
      [dependencies]
        insta = \"1\"";
    assert_eq!(sandbox.ok(&["notebook", "show"]), shown);
    assert!(sandbox.ok(&["notebook", "show", "--archived"]).contains("KL-1  tabs count as two"));
    assert_eq!(sandbox.ok(&["notebook", "diff", "1", "2"]), second);
    let back = "\
In Progress: - write the printer
Completed -> In Progress: write the parser
KL-1 restored: tabs count as two";
    let restored = sandbox.ok(&["notebook", "restore", "1"]);
    assert_eq!(restored.lines().collect::<std::collections::BTreeSet<_>>(), back.lines().collect());
    let block = sandbox.ok(&["notebook", "show", "--block"]);
    assert_eq!(block, sandbox.ok(&["notebook", "show", "--block", "--at", "1"]));
    // A block that `show` prints can be applied, and gives the same notebook.
    let copied = apply(&sandbox, &block, &["--name", "copy"]);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert_eq!(sandbox.ok(&["notebook", "show", "--name", "copy", "--block"]), block);
    let history = sandbox.ok(&["notebook", "history"]);
    assert_eq!(history.lines().filter(|line| !line.starts_with(' ')).count(), 3, "{history}");
    assert!(history.contains("  KL-1 archived: tabs count as two (because it is in the docs now)"), "{history}");
    let listed = sandbox.items(&["notebook", "list"]);
    assert_eq!(listed.as_array().unwrap().iter().map(|it| it["name"].clone()).collect::<Vec<_>>(), ["copy", "main"]);
    assert!(sandbox.ok(&["activity"]).contains("updated notebook main"));
}

#[test]
fn problems_are_shown_at_their_lines_and_nothing_is_applied() {
    let sandbox = Sandbox::new();
    let text = "KEY_LEARNINGS:\n\tADD:\n\t\t- tabs count\nVERBATIM_CONTEXT:\n  ARCHIVE:\n    - KL-1 because old\n";
    let ran = apply(&sandbox, text, &[]);
    let expected = "\
error: nothing was applied
line 3, column 5: an `ADD` bullet must read `- because <reason>: <one-line insight>`
  |
3 |   - tabs count
  |     ^
line 6, column 7: expected an ID such as VC-1: an `ARCHIVE` bullet here must read `- VC-<number> because <reason>`
  |
6 |     - KL-1 because old
  |       ^
";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (2, "", expected));
    let ran = apply(&sandbox, text, &["--json"]);
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["code"], "notebook_problems");
    assert_eq!(error["problems"][1]["line"], 6);
    assert_eq!(sandbox.ok(&["notebook", "history"]), "notebook main was never written");
}

#[test]
fn unknown_ids_are_refused_or_skipped() {
    let sandbox = Sandbox::new();
    assert_eq!(apply(&sandbox, FIRST, &[]).code, 0);
    let text = "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because old\n    - KL-7 because old\n";
    let ran = apply(&sandbox, text, &[]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("line 4, column 7: there is no KL-7 to archive; there are KL-1"), "{ran:?}");
    assert_eq!(sandbox.json(&["notebook", "show"])["learnings"][0]["id"], "KL-1");
    let ran = apply(&sandbox, text, &["--ignore-unknown"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("KL-1 archived") && ran.stderr.contains("there is no KL-7"), "{ran:?}");
    let error = sandbox.fails(&["notebook", "show", "--at", "9"], 2, "does not exist yet");
    assert_eq!(error["code"], "future_revision");
}

#[test]
fn conditions_hold_and_a_request_with_a_key_happens_once() {
    let sandbox = Sandbox::new();
    let ran = apply(&sandbox, FIRST, &["--if-version", "0", "--idempotency-key", "one", "--json"]);
    let again = apply(&sandbox, FIRST, &["--if-version", "0", "--idempotency-key", "one", "--json"]);
    assert_eq!((ran.code, &ran.stdout), (0, &again.stdout));
    let applied: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&applied["learnings"], &applied["snippets"]), (&json!(["KL-1"]), &json!(["VC-1"])));
    let ran = apply(&sandbox, SECOND, &["--if-version", "0"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("notebook main is at version 1, not 0"), "{ran:?}");
}

#[test]
fn forgotten_content_is_in_no_file() {
    let sandbox = Sandbox::new();
    let secret = "hunter2-correct-horse";
    let text = FIRST.replace("tabs count as two", secret);
    assert_eq!(apply(&sandbox, &text, &[]).code, 0);
    assert!(sandbox.files_contain(secret));
    sandbox.fails(&["notebook", "forget", "KL-1"], 2, "--hard");
    sandbox.ok(&["notebook", "forget", "KL-1", "--hard", "--yes"]);
    assert!(!sandbox.files_contain(secret));
    assert!(sandbox.files_contain("write the parser"));
    sandbox.ok(&["notebook", "forget", "--everything", "--hard", "--yes"]);
    assert!(!sandbox.files_contain("write the parser") && !sandbox.files_contain("insta ="));
    sandbox.fails(&["notebook", "forget", "KL-9", "--hard", "--yes"], 3, "no KL-9");
}
