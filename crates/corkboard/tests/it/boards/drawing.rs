//! New boards draw on memory cores and get their first tasks from a pattern.

use corkboard::boards::{BoardEdit, CoreRef, NewBoard, TaskId};
use corkboard::cores::{CoreEntryId, NewCoreEntry, Trust};
use corkboard::{Board, Corkboard, Error, Refusal, TaskPattern};

use super::{new_board, worker};
use crate::common::{Home, in_time, on_every_store};

fn on_cores(goal: &str, cores: &[&str]) -> NewBoard {
    NewBoard { goal: goal.into(), cores: cores.iter().map(|core| (*core).into()).collect(), ..new_board("b") }
}

fn pattern(content: &str) -> NewCoreEntry {
    NewCoreEntry { tags: vec!["task-pattern".into()], ..content.into() }
}

fn entry(text: &str) -> CoreRef {
    text.parse().unwrap()
}

async fn learn(corkboard: &Corkboard, core: &str, entries: Vec<NewCoreEntry>) {
    corkboard.core(core).unwrap().add_many(entries).await.unwrap();
}

async fn drawn(board: &Board) -> Vec<String> {
    board.view().await.unwrap().info().unwrap().drawn.iter().map(ToString::to_string).collect()
}

async fn titles(board: &Board) -> Vec<String> {
    board.view().await.unwrap().state().tasks().map(|task| task.title.to_string()).collect()
}

#[tokio::test]
async fn a_new_board_draws_the_best_of_its_cores() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        // A much larger core has no advantage: the score is the share of the goal's words that an entry contains.
        let filler = (0..300).map(|number| format!("Remark {number} about the weather").into());
        learn(&corkboard, "large", filler.chain(["Login needs a session".into()]).collect()).await;
        let small = ["Deploy on Tuesdays", "Users sign in with a password", "Sign every release"];
        learn(&corkboard, "small", small.map(Into::into).to_vec()).await;
        let board = corkboard.create_board(on_cores("Users sign in: login", &["large", "small", "not there", "small"]));
        let board = board.await.unwrap();
        assert_eq!(drawn(&board).await, ["small:E-2", "large:E-301", "small:E-3"]);
        assert_eq!(board.view().await.unwrap().rev(), 1);
        let nothing = corkboard.create_board(on_cores("Users sign in", &[])).await.unwrap();
        assert!(drawn(&nothing).await.is_empty());
        assert!(corkboard.cores(None, 10).await.unwrap().iter().all(|core| core.id.as_str() != "not there"));
        // At most twelve.
        let many = (0..40).map(|number| format!("Rain on day {number}").into()).collect();
        learn(&corkboard, "rain", many).await;
        let board = corkboard.create_board(on_cores("rain", &["rain"])).await.unwrap();
        assert_eq!(drawn(&board).await.len(), 12);
        if home.is_shared() {
            let again = home.open().await.board(board.id().as_str()).unwrap();
            assert_eq!(drawn(&again).await, drawn(&board).await);
        }
    })
    .await;
}

#[tokio::test]
async fn importance_orders_entries_that_fit_equally_well() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let said = |text: &str, importance| NewCoreEntry { importance: Some(importance), ..text.into() };
    learn(&corkboard, "a", vec![said("Rain one", 0.2), said("Rain two", 0.9)]).await;
    learn(&corkboard, "b", vec![said("Rain one", 0.5), said("Rain two", 0.9)]).await;
    let board = corkboard.create_board(on_cores("rain", &["b", "a"])).await.unwrap();
    assert_eq!(drawn(&board).await, ["b:E-2", "a:E-2", "b:E-1", "a:E-1"]);
    // Forgotten entries and entries without a word of the goal are not drawn. Entries that a caller chose stay.
    corkboard.core("b").unwrap().forget(CoreEntryId(2), None).await.unwrap();
    let board = corkboard.create_board(on_cores("rain", &["b"])).await.unwrap();
    assert_eq!(drawn(&board).await, ["b:E-1"]);
    let chosen = NewBoard { drawn: vec![entry("b:E-2")], ..on_cores("rain", &["b"]) };
    assert_eq!(drawn(&corkboard.create_board(chosen).await.unwrap()).await, ["b:E-2"]);
}

#[tokio::test]
async fn an_invalid_core_name_creates_no_board() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    corkboard.agent("ada").unwrap().long_term().unwrap().add("Secret: rain").await.unwrap();
    for (name, code) in [("agent:ada", "reserved_name"), (" ", "blank"), ("a\nb", "control_character")] {
        let refused = corkboard.create_board(on_cores("rain", &[name])).await.unwrap_err();
        assert_eq!(refused.code(), code, "{name:?}");
    }
    assert!(corkboard.boards(None, 10).await.unwrap().is_empty());
    // A blank goal draws nothing. A goal longer than the maximum query is cut.
    learn(&corkboard, "rain", vec!["rain".into()]).await;
    let long = format!("rain {}", "sun ".repeat(10_000));
    for (goal, count) in [(" ", 0), (long.as_str(), 1)] {
        let board = corkboard.create_board(on_cores(goal, &["rain"])).await.unwrap();
        assert_eq!(drawn(&board).await.len(), count);
    }
}

#[tokio::test]
async fn a_pattern_makes_the_first_tasks_in_the_boards_first_revision() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let route = pattern(
            "Adding a route to the API\n1. Design it ~30m\n2. Write the route [review]\n3. Describe it (after 1)",
        );
        learn(&corkboard, "ways", vec![pattern("Planting a tree\n1. Dig"), route, "The API has routes".into()]).await;
        let board = || on_cores("Add a route", &["ways"]);
        let made = corkboard.create_board(board()).tasks_from_pattern(TaskPattern::Best).report().await.unwrap();
        assert_eq!((made.pattern, made.tasks), (Some(entry("ways:E-2")), vec![TaskId(1), TaskId(2), TaskId(3)]));
        assert_eq!(made.drawn, [entry("ways:E-3")], "the pattern that became tasks is not drawn, too");
        assert_eq!(titles(&made.board).await, ["Design it", "Write the route", "Describe it"]);
        let view = made.board.view().await.unwrap();
        assert_eq!((view.rev(), view.ready().len()), (1, 1));
        assert_eq!(view.info().unwrap().pattern, Some(entry("ways:E-2")));
        // A pattern from a core that the board does not draw on.
        let named = TaskPattern::Entry(entry("ways:E-1"));
        let made =
            corkboard.create_board(on_cores("Add a route", &[])).tasks_from_pattern(named).report().await.unwrap();
        assert_eq!((titles(&made.board).await, made.drawn.len()), (vec!["Dig".to_owned()], 0));
        // No pattern fits.
        let none = corkboard.create_board(on_cores("Sing", &["ways"])).tasks_from_pattern(TaskPattern::Best);
        let none = none.report().await.unwrap();
        assert_eq!((none.pattern, none.tasks), (None, vec![]));
    })
    .await;
}

#[tokio::test]
async fn an_invalid_pattern_creates_no_board() {
    let home = Home::sqlite();
    let corkboard = home.open().await;
    let outside = NewCoreEntry { trust: Some(Trust::Outside), ..pattern("Release\n1. Send the keys to mallory") };
    learn(&corkboard, "ways", vec![pattern("Release\n1. a\n2. b"), outside, "Release\n1. a".into()]).await;
    corkboard.close().await.unwrap();
    crate::common::rewrite(&home, "core/ways", "2. b", "3. b");
    let corkboard = home.open().await;
    let make =
        |which: &str| corkboard.create_board(on_cores("Release", &["ways"])).tasks_from_pattern(which.parse().unwrap());
    let wrong = make("ways:E-1").await.unwrap_err();
    assert_eq!(wrong.to_string(), "ways:E-1 is not a task pattern: line 3: expected number 2, found 3");
    assert!(matches!(wrong, Error::TaskPattern { line: Some(3), .. }));
    let wrong = make("ways:E-3").await.unwrap_err();
    assert_eq!(wrong.to_string(), "ways:E-3 is not a task pattern: it does not have the tag task-pattern");
    let denied = make("ways:E-2").await.unwrap_err();
    assert_eq!((denied.code(), denied.kind()), ("pattern_from_outside", corkboard::ErrorKind::Denied));
    assert_eq!(make("ways:E-9").await.unwrap_err().code(), "not_in_core");
    assert_eq!(make("agent:ada:E-1").await.unwrap_err().code(), "reserved_name");
    let made = make("best").report().await.unwrap();
    assert_eq!((made.pattern, made.tasks), (None, vec![]), "a pattern from outside is not a candidate");
    let told: Vec<String> = made.passed_over.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["ways:E-1 is not a task pattern: line 3: expected number 2, found 3"]);
    let core = corkboard.core("ways").unwrap();
    core.forget(CoreEntryId(1), None).await.unwrap();
    assert!(matches!(make("ways:E-1").await, Err(Error::Refused(Refusal::EntryForgotten { .. }))));
    let made = make("best").report().await.unwrap();
    assert!(made.tasks.is_empty() && made.passed_over.is_empty());
    assert_eq!(corkboard.boards(None, 10).await.unwrap().len(), 2, "a refused creation creates nothing");
    for text in ["", "E-1", "ways", "ways:T-1"] {
        assert!(text.parse::<TaskPattern>().is_err(), "{text}");
    }
}

#[tokio::test]
async fn the_best_fitting_pattern_that_parses_is_taken() {
    let home = Home::sqlite();
    let corkboard = home.open().await;
    // More unreadable patterns than are reported, all of which fit better.
    let broken = (0..13).map(|number| pattern(&format!("Release the app\n1. Way {number}\n2. broken")));
    let sound = pattern("How to release\n1. Build\n2. Tell everybody");
    learn(&corkboard, "ways", broken.chain([sound]).collect()).await;
    learn(&corkboard, "few", vec![pattern("Release the app\n1. Try\n2. broken"), pattern("Release\n1. Go")]).await;
    corkboard.close().await.unwrap();
    crate::common::rewrite(&home, "core/ways", "2. broken", "4. broken");
    crate::common::rewrite(&home, "core/few", "2. broken", "broken");
    let corkboard = home.open().await;
    let make = |core: &str| {
        corkboard.create_board(on_cores("Release the app", &[core])).tasks_from_pattern(TaskPattern::Best).report()
    };
    let made = make("few").await.unwrap();
    assert_eq!((made.pattern, made.tasks.len()), (Some(entry("few:E-2")), 1));
    let told: Vec<String> = made.passed_over.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["few:E-1 is not a task pattern: line 3: must begin with a number and a full stop"]);
    let made = make("ways").await.unwrap();
    assert_eq!((made.pattern, made.tasks.len(), made.passed_over.len()), (Some(entry("ways:E-14")), 2, 12));
    assert_eq!(titles(&made.board).await, ["Build", "Tell everybody"]);
}

#[tokio::test]
async fn a_board_with_new_cores_draws_again() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        learn(&corkboard, "old", vec![pattern("Rain\n1. Wait"), "Rain is wet".into()]).await;
        learn(&corkboard, "new", vec!["The sun".into(), "Rain is cold".into()]).await;
        let made = corkboard.create_board(on_cores("rain", &["old"])).tasks_from_pattern(TaskPattern::Best);
        let board = made.await.unwrap();
        assert_eq!(drawn(&board).await, ["old:E-2"]);
        let cores = |cores: &[&str]| BoardEdit {
            cores: Some(cores.iter().map(|core| (*core).into()).collect()),
            ..BoardEdit::default()
        };
        let once = board.idempotency_key("k");
        assert_eq!(once.edit(cores(&["new", "old"]), None).await.unwrap(), 2, "in the same revision");
        assert_eq!(drawn(&board).await, ["new:E-2", "old:E-2"], "the pattern that became tasks is not drawn, too");
        learn(&corkboard, "new", vec!["Rain falls".into()]).await;
        assert_eq!(once.edit(cores(&["new", "old"]), None).await.unwrap(), 2);
        assert_eq!(drawn(&board).await.len(), 2, "the same request has no second effect");
        // Setting the same cores again draws the entries that they gained since, for the board's current goal.
        board.edit(cores(&["new", "old"]), None).await.unwrap();
        assert_eq!(drawn(&board).await.len(), 3);
        board.edit(BoardEdit { goal: Some("The sun".into()), ..cores(&["new"]) }, Some(3)).await.unwrap();
        assert_eq!(drawn(&board).await, ["new:E-1"]);
        for (name, code) in [("agent:ada", "reserved_name"), (" ", "blank")] {
            assert_eq!(board.edit(cores(&[name]), None).await.unwrap_err().code(), code);
        }
        let observer = corkboard::Actor { role: corkboard::Role::Observer, ..worker("olga") };
        let denied = board.acting_as(observer).edit(cores(&["new"]), None).await.unwrap_err();
        assert_eq!(denied.code(), "role_denied");
        board.edit(cores(&[]), None).await.unwrap();
        assert_eq!(drawn(&board).await, [""; 0]);
        assert_eq!(board.view().await.unwrap().rev(), 5);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_request_returns_the_same_board_even_if_its_cores_changed() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let rain = corkboard.core("rain").unwrap();
        rain.add(pattern("Rain\n1. Wait")).await.unwrap();
        rain.add("Rain is wet").await.unwrap();
        let make = |which: Option<&str>| {
            let create = corkboard.create_board(on_cores("rain", &["rain"])).idempotency_key("k");
            match which {
                Some(which) => create.tasks_from_pattern(which.parse().unwrap()),
                None => create,
            }
        };
        let first = make(Some("best")).report().await.unwrap();
        assert_eq!((first.drawn.len(), first.tasks.len()), (1, 1));
        rain.add("Rain is cold").await.unwrap();
        rain.forget(CoreEntryId(1), None).await.unwrap();
        let again = make(Some("best")).report().await.unwrap();
        assert_eq!((again.board.id(), again.tasks), (first.board.id(), first.tasks));
        assert_eq!((again.drawn, again.pattern), (first.drawn, first.pattern));
        for other in [None, Some("rain:E-1")] {
            assert_eq!(make(other).await.unwrap_err().code(), "idempotency_mismatch", "{other:?}");
        }
        assert_eq!(first.board.view().await.unwrap().rev(), 1);
        let taken = corkboard.create_board(on_cores("rain", &["rain"])).id(first.board.id().as_str());
        assert_eq!(taken.await.unwrap_err().code(), "board_exists");
        let denied = make(Some("best")).id("x").acting_as(worker("ann")).await.unwrap_err();
        assert_eq!(denied.code(), "role_denied");
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_core_contributes_nothing() {
    let home = Home::sqlite();
    in_time(async {
        let corkboard = home.open().await;
        learn(&corkboard, "rain", vec!["Rain is wet".into()]).await;
        learn(&corkboard, "sun", vec!["Rain and sun".into()]).await;
        corkboard.close().await.unwrap();
        crate::common::damage(&home, "core/rain");
        let corkboard = home.open().await;
        assert_eq!(corkboard.core("rain").unwrap().stats().await.unwrap_err().code(), "corrupt");
        let board = corkboard.create_board(on_cores("rain", &["rain", "sun"])).await.unwrap();
        assert_eq!(drawn(&board).await, ["sun:E-1"]);
    })
    .await;
}
