//! The core stays pure: none of its dependencies can reach a file, a socket, a clock or random numbers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// All dependencies of the core except procedural macros.
const ALLOWED: [&str; 20] = [
    "archery",
    "bytemuck",
    "corkboard-core",
    "equivalent",
    "imbl",
    "imbl-sized-chunks",
    "itoa",
    "jiff",
    "jiff-core",
    "memchr",
    "rand_core",
    "rand_xoshiro",
    "safe_arch",
    "serde",
    "serde_core",
    "serde_json",
    "thiserror",
    "uuid",
    "wide",
    "zmij",
];

#[test]
fn the_core_has_only_the_listed_dependencies() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let arguments = "tree --offline -p corkboard-core -e normal,no-proc-macro --prefix none";
    let output =
        Command::new(cargo).args(arguments.split(' ')).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "cargo {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let found: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let allowed = BTreeSet::from(ALLOWED);
    let [new, gone] = [&found - &allowed, &allowed - &found];
    assert!(
        new.is_empty() && gone.is_empty(),
        "The core decides and the shell executes, so that every rule can be tested, replayed and simulated without a \
         file, a clock or a network. Each crate below the core is one that could bring them in. New: {new:?}. Gone: \
         {gone:?}. If a new one does no I/O and reads neither time nor randomness, add it to ALLOWED in this file; \
         otherwise the code that needs it belongs in the `corkboard` crate."
    );
}

#[test]
fn the_core_has_no_standard_library() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let root = fs::read_to_string(source.join("lib.rs")).unwrap();
    // Deriving schemas needs the standard library. `make check` builds the core without it.
    let declared = r#"#![cfg_attr(not(feature = "openapi"), no_std)]"#;
    assert!(root.lines().any(|line| line == declared), "src/lib.rs must declare {declared}");
    let files = rust_files(&source);
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let code = fs::read_to_string(&file).unwrap();
        let names_std =
            outside_tests(&code).any(|line| line.split_whitespace().collect::<String>().contains("externcratestd"));
        assert!(!names_std, "{} declares the standard library: use it only under cfg(test)", file.display());
    }
}

#[test]
fn test_code_is_not_checked() {
    let code = "use a;\n#[cfg(test)]\nextern crate std;\nmod b;\n#[cfg(test)]\nmod tests {\n    extern crate std;\n}\nextern  crate std;";
    assert_eq!(outside_tests(code).collect::<Vec<_>>(), ["use a;", "mod b;", "extern  crate std;"]);
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let rust = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.chain(folders.iter().flat_map(|folder| rust_files(folder))).collect()
}

/// The lines of formatted code without the items that follow a `#[cfg(test)]` at the left margin.
fn outside_tests(code: &str) -> impl Iterator<Item = &str> {
    let mut lines = code.lines();
    std::iter::from_fn(move || {
        let mut line = lines.next()?;
        while line == "#[cfg(test)]" {
            lines.by_ref().find(|line| *line == "}" || line.starts_with(char::is_alphabetic) && line.ends_with(';'))?;
            line = lines.next()?;
        }
        Some(line)
    })
}
