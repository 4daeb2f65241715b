//! One script, run on a store and through a server: every command prints the same and ends with the same code.

use crate::support::{Ran, Sandbox, run};

/// Runs each line of a script both ways, as text and as JSON, and compares the output.
fn check(script: &str) {
    for form in ["", " --json"] {
        let ways = [Sandbox::local(), Sandbox::remote()];
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let [here, there] = ways.each_ref().map(|sandbox| in_shell(sandbox, line, form));
            assert_eq!(here, there, "on a store and through a server: {line}{form}");
        }
    }
}

/// In the script, `cork` is the command with the given output form. Random parts of the output are masked.
fn in_shell(sandbox: &Sandbox, line: &str, form: &str) -> (i32, String, String) {
    let mut command = sandbox.command("bash");
    command.args(["-c", &format!("cork() {{ \"$CORK\" \"$@\"{form}; }}\n{line}")]);
    let Ran { code, stdout, stderr } = run(command, b"");
    (code, masked(&stdout), masked(&stderr))
}

/// Without the size of a log, because a server's log also contains who acted for the author.
fn without_log_size(line: &str) -> String {
    if line.starts_with("log ") {
        return "log *".into();
    }
    let log = line.split_once("\"log\":{").and_then(|(before, after)| Some((before, after.split_once('}')?.1)));
    log.map_or_else(|| line.to_owned(), |(before, after)| format!("{before}\"log\":*{after}"))
}

/// Replaces every time and every random ID. Column widths depend on content, so white space becomes one space.
fn masked(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = without_log_size(line);
        let words = line.split_whitespace().map(|word| {
            let core = word.trim_matches(|character: char| !character.is_ascii_alphanumeric());
            if is_id(core) || is_time(core) { word.replace(core, "*") } else { masked_within(word) }
        });
        let line = words.collect::<Vec<_>>().join(" ");
        // Ages depend on how busy the machine is.
        let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let is_age = |words: &&[&str]| matches!(words, [count, _, "ago"] if is_count(count));
        let words: Vec<&str> = line.split(' ').collect();
        let ages: Vec<String> = words.windows(3).filter(is_age).map(|words| words.join(" ")).collect();
        ages.iter().fold(line.clone(), |line, age| line.replace(age, "just now"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// JSON has no white space, so mask each part between quotation marks.
fn masked_within(word: &str) -> String {
    let parts = word.split('"').map(|part| if is_id(part) || is_time(part) { "*" } else { part });
    parts.collect::<Vec<_>>().join("\"")
}

/// A UUID, or its first digits.
fn is_id(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_hexdigit).count();
    let is_made_of = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    (word.len() == 36 || word.len() == 8) && digits >= 8 && word.bytes().all(is_made_of)
}

/// `2026-11-15T20:31:33.123Z`, `2026-11-15`, `20:31:33`.
fn is_time(word: &str) -> bool {
    let is_made_of = |byte: u8| byte.is_ascii_digit() || b"-:.TZ".contains(&byte);
    let marks = word.bytes().filter(|byte| b"-:".contains(byte)).count();
    word.len() >= 8 && marks >= 2 && word.bytes().all(is_made_of)
}

#[test]
fn memory_scopes_and_notebooks_are_alike_on_a_store_and_through_a_server() {
    check(
        r#"
        cork memory list
        cork memory set user_name Ada --tag people --importance 0.9
        cork memory set user_name Grace --if-version 7
        cork memory set user_name Grace --if-version 1
        cork memory set plan '{"steps": [1, 2.5, null]}' --kind insight --custom '{"by": "hand"}'
        cork memory set later 1 --expiry-days 3
        cork memory set wrong 1 --expires-at 2020-01-01T00:00:00Z
        cork memory set wrong 1 --importance 7
        cork memory set wrong 1 --importance NaN
        cork memory set "$(head -c 600 /dev/zero | tr '\0' k)" 1
        cork memory set 'a/b c%2F..?#é🗝' odd
        cork memory get 'a/b c%2F..?#é🗝'
        cork memory set ../up 1
        cork memory get ../up
        cork memory get ' '
        cork memory get nothing
        cork memory get user_name
        cork memory get plan
        cork memory append log 'one' --line
        cork memory append log 'two' --line
        cork memory append plan x
        cork memory get log
        cork memory remove later
        cork memory remove later
        cork memory set once 1 --idempotency-key k
        cork memory set once 1 --idempotency-key k
        cork memory set once 2 --idempotency-key k
        cork memory set once 2 --if-rev 1
        cork memory list --tag people
        cork memory list --keys
        cork memory search Grace
        cork memory note add 'prefers short answers'
        cork memory note add 'and long walks' --principal grace
        cork memory note list
        cork memory note remove 1
        cork memory note remove 1
        cork memory search walks
        cork --agent 'team/ada?x=%20' memory set a 1
        cork --agent 'team/ada?x=%20' memory get a
        cork --agent .. memory set a 1
        cork --agent .. memory get a
        cork --agent ' ' memory get a
        cork --role observer memory set a 1
        cork --role observer memory get user_name
        cork memory watch --from-rev 0 --limit 3
        cork scope create task
        cork memory set user_name Lin --scope task
        cork memory get user_name --scope task
        cork memory get plan --scope task
        cork memory get plan --scope task --local
        cork scope list
        cork scope show task
        cork scope create task-2 --parent nobody
        cork scope merge task --overwrite false
        cork scope merge task
        cork memory get user_name
        cork scope dispose task
        cork scope dispose task
        printf 'CURRENT_PROGRESS:\n  In Progress:\n    - write it\nKEY_LEARNINGS:\n  ADD:\n    - because it bit us: tabs count\n' | cork notebook apply -
        cork notebook show
        cork notebook show --block
        printf 'KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because it is old\n    - KL-7 because\n' | cork notebook apply -
        printf 'CURRENT_PROGRESS:\n  Completed:\n    - write it\n' | cork notebook apply -
        cork notebook list
        cork notebook history
        cork notebook diff 0 1
        cork notebook show --at 999
        cork notebook restore 1
        cork notebook restore 999
        cork notebook prompt
        cork notebook forget KL-1
        cork notebook forget KL-1 --hard --yes
        cork notebook forget KL-9 --hard --yes
        cork notebook forget --everything --hard --yes
        cork handoff
        cork handoff write 'run step 3'
        cork handoff show
        cork handoff clear
        cork handoff clear
        cork tools list --set memory
        cork tools call write_memory '{"key": "plan", "content": "ship on Friday"}'
        cork tools call search_memory '{"query": "when do we ship?"}'
        cork tools call write_memory '{}'
        cork tools call --role observer write_memory '{"key": "plan", "content": "x"}'
        cork tools call dream
        printf '%s\n' '{"id":1,"tool":"write_memory","input":{"key":"k","content":"v"}}' '{"id":2,"tool":"memory","input":{"command":"view","path":"/memories"}}' nonsense | cork tools call --stdin --conversation c
        cork context --budget 500
        cork context --budget 500 --query ship
        cork activity --days
        cork stats
        cork snapshot save backup.json
        cork memory clear
        cork memory clear --yes
        cork memory clear --all --yes
        cork snapshot restore backup.json
        cork snapshot restore backup.json --yes
        cork --agent other snapshot restore backup.json --yes
        cork memory list
        cork memory forget user_name
        cork memory forget user_name --hard --yes
        cork memory forget user_name --hard --yes
        cork memory forget --everything --hard --yes
        cork memory forget --everything --hard --yes
        cork memory list
        "#,
    );
}

#[test]
fn boards_and_tasks_are_alike_on_a_store_and_through_a_server() {
    check(
        r#"
        cork board list
        cork task list
        cork --board nowhere task list
        cork --board nowhere task add x
        cork board create 'Add login' --id login --goal 'Users sign in' --constraint 'no JWT'
        cork board create 'Add login' --id login
        cork board create Named --id 'team/a b%2F..?é'
        cork --board 'team/a b%2F..?é' task add one
        cork --board 'team/a b%2F..?é' task list
        cork board create Up --id ..
        cork --board .. task add one
        cork board create x --id ' '
        export CORK_BOARD=login; cork board edit --goal better --if-version 1
        export CORK_BOARD=login; cork board edit --goal better --if-version 1
        export CORK_BOARD=login; cork task add 'Write the schema' -d 'all tables' --needs-review --priority 3
        export CORK_BOARD=login; cork task add 'Write the routes' --depends-on T-1 --retry-limit 1
        export CORK_BOARD=login; cork task add 'Or the other' --depends-on T-1
        export CORK_BOARD=login; cork task add 'No' --depends-on T-9
        export CORK_BOARD=login; printf '{"tasks":[{"key":"a","title":"A"},{"key":"b","title":"B","depends_on":["a"]}]}' > batch.json; cork task add --from batch.json
        export CORK_BOARD=login; cork task depend T-1 --depends-on T-2
        export CORK_BOARD=login; cork task edit T-2 --title 'All routes' --if-version 99
        export CORK_BOARD=login; cork task edit T-2 --title 'All routes' --estimate-minutes 5
        export CORK_BOARD=login; cork choose add 'Which?' --option a=T-2 --option b=T-3
        export CORK_BOARD=login; cork choose list
        export CORK_BOARD=login; cork choose C-1 c
        export CORK_BOARD=login; cork task assign T-1 ada
        export CORK_BOARD=login; cork --principal bob --role worker task claim T-1
        export CORK_BOARD=login; cork --principal ada --role worker task start T-1
        export CORK_BOARD=login; cork --principal ada --role worker task block T-1 'no access'
        export CORK_BOARD=login; cork task list --view blocked
        export CORK_BOARD=login; cork --principal ada --role worker task start T-1
        export CORK_BOARD=login; cork --principal ada --role worker task heartbeat T-1
        export CORK_BOARD=login; cork --principal ada --role worker task release T-1
        export CORK_BOARD=login; cork --principal bob --role worker task claim --lease-s 60
        export CORK_BOARD=login; cork --principal bob --role worker task claim --lease-s 0
        export CORK_BOARD=login; cork --principal ada --role worker task complete T-1 mine
        export CORK_BOARD=login; cork --principal bob --role worker task complete T-1 'five tables' --epoch 77
        export CORK_BOARD=login; cork --principal bob --role worker task complete T-1 'five tables' --next-step 'index them'
        export CORK_BOARD=login; cork task assign T-1 grace --review
        export CORK_BOARD=login; cork --principal bob --role worker review T-1 approve
        export CORK_BOARD=login; cork --principal grace --role reviewer review T-1 rework 'not yet'
        export CORK_BOARD=login; cork --principal bob --role worker task claim T-1
        export CORK_BOARD=login; cork --principal bob --role worker task complete T-1 'six tables'
        export CORK_BOARD=login; cork --principal grace --role reviewer task review T-1 approve
        export CORK_BOARD=login; cork choose C-1 a --rationale 'it is simpler'
        export CORK_BOARD=login; cork choose C-1 a
        export CORK_BOARD=login; cork --principal bob --role worker task claim T-2
        export CORK_BOARD=login; cork --principal bob --role worker task fail T-2 'no network'
        export CORK_BOARD=login; cork --principal bob --role worker task claim T-2
        export CORK_BOARD=login; cork --principal bob --role worker task fail T-2 'no network'
        export CORK_BOARD=login; cork task retry T-2
        export CORK_BOARD=login; cork task retry
        export CORK_BOARD=login; cork task cancel T-2 'not needed'
        export CORK_BOARD=login; cork --principal zoe --role worker task claim T-9
        export CORK_BOARD=login; cork --principal zoe --role worker task claim --wait-s 0.1
        export CORK_BOARD=login; cork --role observer task add x
        export CORK_BOARD=login; cork board decide 'Which hash?' argon2id --alternative bcrypt --rationale 'memory-hard'
        export CORK_BOARD=login; cork board discover 'no column' --type constraint --affects-task T-1
        export CORK_BOARD=login; cork board discover x --affects-task T-99
        export CORK_BOARD=login; printf 'create table' > schema.sql; cork board artifact schema.sql --type code --task T-1 --inline
        export CORK_BOARD=login; cork board artifact schema.sql --size 3
        export CORK_BOARD=login; cork board artifact list
        export CORK_BOARD=login; cork task list
        export CORK_BOARD=login; cork task show T-1
        export CORK_BOARD=login; cork task show T-99
        export CORK_BOARD=login; cork task context T-4 --budget 800
        export CORK_BOARD=login; cork board show
        export CORK_BOARD=login; cork board show --at 3
        export CORK_BOARD=login; cork board show --at 999
        export CORK_BOARD=login; cork board diff 2 5
        export CORK_BOARD=login; cork board graph
        export CORK_BOARD=login; cork board graph --format dot
        export CORK_BOARD=login; cork board search schema
        export CORK_BOARD=login; timeout 60 "$CORK" board watch --from-rev 999 --json
        export CORK_BOARD=login; cork tools list --set worker
        export CORK_BOARD=login; cork --agent bob --role worker tools call claim_task '{}'
        export CORK_BOARD=login; cork --agent zoe --role worker tools call record_discovery '{"content": "found"}'
        export CORK_BOARD=login; cork board complete
        export CORK_BOARD=login; cork board complete --unfinished cancel --reason enough
        export CORK_BOARD=login; cork task add late
        export CORK_BOARD=login; cork board show
        cork board list
        cork gc
        cork board archive login --retain-days 0
        cork board discard login
        cork gc
        cork gc --yes
        cork board show login
        cork board delete ..
        cork board delete .. --yes
        cork board delete .. --yes
        cork board delete 'team/a b%2F..?é' --hard --yes
        cork board list
        cork stats
        "#,
    );
}

#[test]
fn people_cores_and_learnings_are_alike_on_a_store_and_through_a_server() {
    check(
        r#"
        cork core list
        cork core add rules 'Every route of the API has a test' --tag api
        cork core add rules 'every route of  the API has a test'
        cork core add rules 'Every route of the API has a test' --principal bob
        cork core add rules 'Deploys happen on Tuesdays' --importance 0.9 --trust outside
        cork core add 'team/é %2F ..' 'odd name'
        cork core show 'team/é %2F ..'
        cork core add agent:ada x
        cork core show rules
        cork core show rules E-1
        cork core show rules E-99
        cork core show nowhere
        cork core search rules deploy
        cork core edit rules E-2 --importance 0.1 --if-version 99
        cork core edit rules E-2 --trust own
        cork --principal bob --role worker core edit rules E-1 --trust own
        cork core edit rules E-2 --content 'Every route of the API has a test'
        cork core forget rules E-2 --reason old
        cork core forget rules E-2
        cork core restore rules E-2
        cork core add rules '1. Design\n2. Build (after 1)' --tag task-pattern
        cork core add rules "$(printf '1. Design\n2. Build (after 1)')" --tag task-pattern
        cork board create Pattern --id patterned --core rules --pattern best
        cork board create x --core rules --pattern rules:E-1
        cork board create Named --id named --core rules --idempotency-key k --goal 'deploy the API'
        cork core add rules 'Deploy the API by hand'
        cork board create Named --id named --core rules --idempotency-key k --goal 'deploy the API'
        cork board create Named --id named --core rules --idempotency-key k --goal 'deploy something else'
        cork board create Plan --id plan --core rules --goal 'deploy the API'
        export CORK_BOARD=plan; cork task add Design
        export CORK_BOARD=plan; cork nudge list
        export CORK_BOARD=plan; cork nudge 'Use staging' --to ada --priority urgent --principal grace
        export CORK_BOARD=plan; cork nudge ' '
        export CORK_BOARD=plan; cork nudge 'Freeze at noon' --expires-at 1h
        export CORK_BOARD=plan; cork --principal ada --role worker task context T-1
        export CORK_BOARD=plan; cork --principal ada --role worker nudge check
        export CORK_BOARD=plan; cork --principal ada --role worker nudge ack N-1
        export CORK_BOARD=plan; cork --principal ada --role worker nudge ack N-1
        export CORK_BOARD=plan; cork nudge ack N-99
        export CORK_BOARD=plan; cork --principal ada --role worker nudge hm
        export CORK_BOARD=plan; cork nudge list
        export CORK_BOARD=plan; cork --agent ada context --budget 900
        export CORK_BOARD=plan; cork board decide 'Which hash?' argon2id --alternative bcrypt --needs-approval --affects-task T-1 --principal ada
        export CORK_BOARD=plan; cork --principal ada --role worker task claim T-1
        export CORK_BOARD=plan; cork --principal ada --role worker approve D-1
        export CORK_BOARD=plan; cork approve D-1 'fine'
        export CORK_BOARD=plan; cork reject D-1 'no'
        export CORK_BOARD=plan; cork approve D-99
        export CORK_BOARD=plan; cork board pause 'lunch'
        export CORK_BOARD=plan; cork --principal ada --role worker task claim T-1
        export CORK_BOARD=plan; cork board resume
        export CORK_BOARD=plan; cork board resume
        export CORK_BOARD=plan; cork --principal ada --role worker task claim T-1
        export CORK_BOARD=plan; cork --principal ada --role worker task complete T-1 done
        export CORK_BOARD=plan; cork board discover 'Ten requests a second' --trust outside --promote-to-core rules --principal web
        export CORK_BOARD=plan; cork board discover 'Migrate before testing' --affects-task T-1 --principal lin
        export CORK_BOARD=plan; cork learn extract
        export CORK_BOARD=plan; cork learn promote D-1
        export CORK_BOARD=plan; cork learn promote D-1 --core rules --importance 0.8
        export CORK_BOARD=plan; cork learn promote D-1 --core rules
        export CORK_BOARD=plan; cork learn promote F-1
        export CORK_BOARD=plan; cork learn promote F-99
        export CORK_BOARD=plan; cork learn refuse F-2 'we do not'
        export CORK_BOARD=plan; cork learn promote F-2 --core rules
        export CORK_BOARD=plan; cork learn list --all
        cork core show rules
        cork core search rules argon2id
        export CORK_BOARD=plan; cork learn rollback D-1 --reason 'changed our minds' --yes
        cork learn rollback --author web --yes
        export CORK_BOARD=plan; cork learn list --all
        cork core show rules
        cork core list
        export CORK_BOARD=plan; cork board show
        export CORK_BOARD=plan; cork board cancel --reason enough
        cork gc
        cork stats
        "#,
    );
}

#[test]
fn forgetting_is_alike_on_a_store_and_through_a_server() {
    check(
        r#"
        cork memory set plan 'ask hunter2'
        cork memory set plan 'ask nobody'
        cork board create Find --id find
        cork --board find board decide 'Which?' this --rationale 'hunter2 said so'
        cork --board find board forget D-1
        cork --board find board forget D-9 --hard --yes
        cork --board find board forget D-1 --hard --yes
        cork --board find board forget D-1 --hard --yes
        cork core add rules 'never say hunter2'
        cork core add rules 'hunter2 is gone'
        cork core forget rules E-2 --hard --yes
        cork core forget rules E-9 --hard --yes
        cork forget hunter2
        cork forget hu --hard --yes
        cork forget hunter2 --dry-run
        cork forget hunter2 --hard
        cork forget hunter2 --hard --yes
        cork forget hunter2 --hard --yes
        cork core show rules --forgotten
        "#,
    );
}
