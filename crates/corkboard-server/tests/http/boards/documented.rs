//! Runs the commands of the documentation.

use std::process::Command;

use crate::support::{ADMIN, Running};

const DOCUMENT: &str = include_str!("../../../../../docs/http.md");

#[tokio::test]
async fn every_command_of_the_section_about_boards_works() {
    let (_, section) = DOCUMENT.split_once("\n## Boards\n").expect("a section about boards");
    let section = section.split("\n## ").next().expect("its text");
    let mut script = String::from("set -eu\n");
    for block in section.split("```sh\n").skip(1) {
        let block = block.split("```").next().expect("the end of a block");
        // Replace the server's address and the token by those of this test.
        block.lines().filter(|line| !line.starts_with("export CORK_URL=")).for_each(|line| {
            script.push_str(line);
            script.push('\n');
        });
    }
    assert!(script.matches("\napi ").count() > 25, "{script}");
    let server = Running::start().await;
    let mut bash = Command::new("bash");
    bash.args(["-c", &script]).env("CORK_URL", &server.url).env("CORK_TOKEN", ADMIN).env("no_proxy", "*");
    let ran = tokio::task::spawn_blocking(move || bash.output()).await.expect("the thread").expect("bash");
    let (said, wrong) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}\n{wrong}");
    // One claim is overtaken as documented, and the output ends with that of the last command.
    assert!(said.contains("overtaken") && said.contains("\"purged\":[\"login\"]"), "{said}\n{wrong}");
    assert!(said.trim_end().ends_with("{\"deleted\":true,\"rev\":2}"), "{said}");
    server.stop().await;
}
