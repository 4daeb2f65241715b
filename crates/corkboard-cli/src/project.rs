//! The project that `cork` runs in, and the name of the agent that keeps the project's memory.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Variables in which clients name the project's folder. `cork setup` sets the first where a client has no own one.
const VARIABLES: [&str; 4] = ["CORK_PROJECT", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"];
/// Longest part of a folder's name that an agent's name contains.
const NAME_BYTES: usize = 40;

/// A folder whose assistants and commands share one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Project {
    root: PathBuf,
}

impl Project {
    /// The project of this process: the folder that the client names, otherwise the git repository around the current
    /// folder.
    pub(crate) fn of_process() -> Option<Self> {
        Self::find(&env::current_dir().ok()?, |name| env::var_os(name))
    }

    /// The project of this process, or else the current folder.
    pub(crate) fn or_current_folder() -> Option<Self> {
        Self::of_process().or_else(|| Some(Self::at(&env::current_dir().ok()?)))
    }

    /// The project of a client's session: the folder in the client's variable, else the folder that the client names,
    /// else the current folder.
    pub(crate) fn of_session(folder: Option<&Path>) -> Option<Self> {
        let named = Self::named(|name| env::var_os(name));
        named.or_else(|| folder.map(Self::around)).or_else(Self::or_current_folder)
    }

    /// The project of a folder that a client names.
    pub(crate) fn around(folder: &Path) -> Self {
        git_root(folder).unwrap_or_else(|| Self::at(folder))
    }

    fn find(folder: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        Self::named(variable).or_else(|| git_root(folder))
    }

    fn named(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let named = VARIABLES.into_iter().filter_map(variable).map(PathBuf::from).find(|path| path.is_absolute());
        named.map(|folder| Self::around(&folder))
    }

    /// The project with exactly this root.
    fn at(root: &Path) -> Self {
        Self { root: root.canonicalize().unwrap_or_else(|_| root.to_owned()) }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The agent that keeps the project's memory: the folder's name, and six hex digits of the hash of its path. The
    /// hash keeps apart folders with the same name.
    pub(crate) fn agent(&self) -> String {
        let hash = blake3::hash(self.root.as_os_str().as_encoded_bytes()).to_hex();
        let name = self.root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let is_plain = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
        let plain: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect();
        let short = plain.get(..plain.floor_char_boundary(NAME_BYTES)).unwrap_or_default();
        let short = if short.is_empty() { "project" } else { short };
        format!("{short}-{}", hash.get(..6).unwrap_or_default())
    }
}

/// The git repository around a folder. A linked worktree belongs to the project of its main repository. Like git, this
/// does not look in the folders that `GIT_CEILING_DIRECTORIES` names, nor above them.
fn git_root(folder: &Path) -> Option<Project> {
    let ceilings = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let is_below = |folder: &&Path| env::split_paths(&ceilings).all(|ceiling| ceiling != **folder);
    let root = folder.ancestors().take_while(is_below).find(|folder| folder.join(".git").exists())?;
    // In a linked worktree, `.git` is a file: `gitdir: MAIN/.git/worktrees/NAME`.
    let link = std::fs::read_to_string(root.join(".git")).unwrap_or_default();
    let main = link.strip_prefix("gitdir: ").and_then(|target| target.split_once("/.git/worktrees/"));
    Some(Project::at(main.map_or(root, |(main, _)| Path::new(main))))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_agent_is_named_after_the_folder_and_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let named = |path: &str| {
            let root = folder.path().join(path);
            fs::create_dir_all(&root).unwrap();
            Project::at(&root).agent()
        };
        let (one, other, odd) = (named("a/shop"), named("b/shop"), named("My app: v2"));
        assert!(one.starts_with("shop-") && one.len() == "shop-".len() + 6, "{one}");
        assert_ne!(one, other);
        assert_eq!(one, named("a/shop"));
        assert!(odd.starts_with("My-app--v2-"), "{odd}");
        assert!(named(&"é".repeat(100)).len() <= NAME_BYTES + 7);
        assert!(Project::at(Path::new("/")).agent().starts_with("project-"));
    }

    #[test]
    fn a_project_is_what_the_client_names_else_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (inner, worktree, plain) = (base.join("repo/src/deep"), base.join("tree"), base.join("plain"));
        for folder in [&inner, &base.join("repo/.git"), &worktree, &plain] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(worktree.join(".git"), format!("gitdir: {}/repo/.git/worktrees/tree\n", base.display())).unwrap();
        let root = |folder: &Path, variable: Option<&Path>| {
            let named = |name: &str| variable.filter(|_| name == "CLAUDE_PROJECT_DIR").map(OsString::from);
            Project::find(folder, named).map(|project| project.root)
        };
        assert_eq!(root(&inner, None), Some(base.join("repo")));
        assert_eq!(root(&worktree, None), Some(base.join("repo")));
        assert_eq!(root(&plain, None), None);
        assert_eq!(root(&plain, Some(&inner)), Some(base.join("repo")));
        assert_eq!(root(&inner, Some(&plain)), Some(plain));
        assert_eq!(root(&inner, Some(Path::new("relative"))), Some(base.join("repo")));
    }
}
