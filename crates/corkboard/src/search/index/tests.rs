//! What the index finds, in which order, and that it does not matter how it came to be.

use super::rank::MAX_QUERY_TERMS;
use super::*;
use crate::search::Query;
use proptest::prelude::*;

fn document(body: &str) -> Document<'_> {
    Document { importance: 0.5, ..Document::plain("fact", body, "", Timestamp::UNIX_EPOCH) }
}

fn search<Id: Ord + Clone>(index: &Index<Id>, query: &str, limit: usize) -> Vec<Found<Id>> {
    let query = Query::new(query).explained(true);
    index.search(&query.in_languages(index.languages()), limit, Timestamp::UNIX_EPOCH, |_| true)
}

fn index(bodies: &[&str]) -> Index<usize> {
    let mut index = Index::new(false);
    bodies.iter().enumerate().for_each(|(id, body)| index.put(id, &document(body)));
    index
}

fn found<Id: Ord + Clone>(index: &Index<Id>, query: &str) -> Vec<Id> {
    search(index, query, 10).into_iter().map(|found| found.id).collect()
}

#[test]
fn the_better_fit_comes_first() {
    for (bodies, query, expected) in [
        // Any word will do; more words are better; rare words tell more.
        (&["red apple", "green apple", "green pear"] as &[&str], "green apple", &[1_usize, 0, 2] as &[usize]),
        (&["apple", "apple", "apple pear"], "apple pear", &[2, 0, 1]),
        (&["apple apple", "apple nut"], "apple", &[0, 1]),
        // The same word in a shorter text.
        (&["apple and many other things on a long table", "apple pie"], "apple", &[1, 0]),
        (&["deployments", "nothing"], "deploying", &[0]),
        (&["nothing"], "something", &[]),
        (&["nothing"], "?", &[]),
        (&[], "anything", &[]),
        (&["to be or not to be", "apple"], "to be", &[0]),
    ] {
        assert_eq!(found(&index(bodies), query), expected, "{query:?} in {bodies:?}");
    }
}

#[test]
fn every_field_is_searched() {
    let mut index = Index::new(false);
    let document = Document {
        body: "something".into(),
        key: "project/loginPlan",
        tags: &["urgent work".into()],
        author: "Grace",
        ..document("something")
    };
    let document = Document { written: "2026-05-08T12:00:00Z".parse().unwrap(), ..document };
    index.put(1, &document);
    for query in ["something", "plan", "login_plan", "urgent", "grace", "8 May", "2026", "2026-05-08"] {
        assert_eq!(found(&index, query), [1], "{query:?}");
    }
    assert_eq!(found(&index, "June"), [0_i32; 0]);
}

#[test]
fn equals_are_ordered_by_importance_then_recency_then_id() {
    let mut index = Index::new(false);
    // The date is not to tell them apart.
    let at = |second| Timestamp::from_second(second).unwrap();
    for (id, importance, second) in [(4, 0.5, 1), (3, 0.5, 2), (2, 0.9, 1), (1, 0.5, 2), (0, 0.1, 9)] {
        index.put(id, &Document { importance, written: at(second), ..document("same") });
    }
    assert_eq!(found(&index, "same"), [2, 1, 3, 4, 0]);
    for limit in 0..7 {
        let ids: Vec<i32> = search(&index, "same", limit).iter().map(|found| found.id).collect();
        assert_eq!(ids, [2, 1, 3, 4, 0][..limit.min(5)]);
    }
    let admitted = index.search(&Query::new("same"), 2, Timestamp::UNIX_EPOCH, |id| *id != 2);
    assert_eq!(admitted.iter().map(|found| found.id).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn a_long_query_is_cut_to_its_rarest_terms() {
    let common: Vec<String> = (0..MAX_QUERY_TERMS).map(|index| format!("common{index}")).collect();
    let everywhere = common.join(" ");
    // One more term than are looked for: the commonest is not.
    let index = index(&[&everywhere, &everywhere, "rare", "common0"]);
    // The second text is folded into the first.
    assert_eq!(found(&index, &format!("{everywhere} rare")), [0, 2]);
    assert_eq!(found(&index, "common0"), [3, 0]);
}

#[test]
fn an_emptied_index_takes_no_room() {
    let mut index = index(&["one two", "two three", "three four"]);
    assert!(index.bytes() > 500);
    (0..3).for_each(|id| index.remove(&id));
    assert_eq!((index.bytes(), index.terms.len(), index.total_length), (0, 0, 0));
    index.put(7, &document("five"));
    assert_eq!((index.documents.len(), index.terms.bound()), (3, 4), "free places should be used again");
    assert_eq!(found(&index, "five two"), [7]);
}

#[test]
fn a_session_lends_score() {
    let mut index = Index::new(false);
    let turns = ["Where is the party?", "At the harbour.", "Great, thanks!", "Bring a cake.", "Sure.", "See you."];
    // Written in another order than their IDs.
    for (id, turn) in turns.into_iter().enumerate() {
        index.put(9 - id, &Document { session: Some("one"), version: id as u64, ..document(turn) });
    }
    index.put(20, &document("At the harbour we met."));
    assert_eq!(found(&index, "Where was the party?"), [8, 9, 7], "a question lends all to its answer");
    assert_eq!(found(&index, "cake"), [6, 5, 4, 7, 8]);
    assert_eq!(found(&index, "harbour")[..2], [8, 20]);
    // A removed turn makes its neighbours neighbours.
    index.remove(&8);
    assert_eq!(found(&index, "Where was the party?"), [7, 9, 6]);
}

#[test]
fn a_named_author_comes_first() {
    let mut index = Index::new(false);
    for (id, author, body) in [(1, "Ada", "I like tea"), (2, "Grace Hopper", "I like tea"), (3, "Linus", "Coffee")] {
        index.put(id, &Document { author, ..document(body) });
    }
    assert_eq!(found(&index, "Does Grace like tea?"), [2, 1]);
    assert_eq!(found(&index, "What did Linus say?"), [3], "a name alone finds what its bearer wrote");
}

#[test]
fn dates_are_found() {
    let mut index = Index::new(false);
    for (id, written) in [(1, "2023-05-08"), (2, "2023-05-09"), (3, "2023-06-01"), (4, "2024-05-08"), (5, "2024-07-01")]
    {
        let written = format!("{written}T10:00:00Z").parse().unwrap();
        index.put(id, &Document { written, ..document(if id == 5 { "a walk" } else { "nothing" }) });
    }
    for (query, expected) in [
        ("8 May 2023", &[1] as &[i32]),
        ("2023-06", &[3]),
        ("8 May", &[4, 1]),
        ("yesterday", &[2]),
        ("a walk in July", &[5]),
        ("the walk of 2023-06-01", &[3, 5]),
    ] {
        let now = "2023-05-10T00:00:00Z".parse().unwrap();
        let hits = index.search(&Query::new(query), 10, now, |_| true);
        let mut ids: Vec<i32> = hits.into_iter().map(|found| found.id).collect();
        if query == "the walk of 2023-06-01" {
            ids.sort_unstable();
        }
        assert_eq!(ids, expected, "{query}");
    }
}

#[test]
fn misspelt_words_are_guessed() {
    let index = index(&[
        "the database failed",
        "a kubernetes cluster",
        "the bank went well",
        "deploy new tyres",
        "running late",
    ]);
    for (query, expected) in [
        ("databse", &[0_usize] as &[usize]),
        ("kuberntes", &[1]),
        ("kubrnets", &[1]),
        // Swapped letters, in short words and before endings, too.
        ("deplyo", &[3]),
        ("edploy", &[3]),
        ("tyers", &[3]),
        ("runnign", &[4]),
        ("rnu", &[]),
        // A known word is not guessed at, and neither are short words and numbers.
        ("cluster", &[1]),
        ("wel", &[]),
        ("kubernetes2", &[]),
    ] {
        assert_eq!(found(&index, query), expected, "{query}");
    }
}

#[test]
fn alike_texts_are_folded() {
    let texts =
        ["The deploy is on Friday evening.", "the deploy is on friday evening", "The deploy is on Monday evening"];
    let hits = search(&index(&[&texts[..], &["deploy", "deploy"]].concat()), "deploy", 3);
    let hits: Vec<(usize, usize)> = hits.into_iter().map(|found| (found.id, found.folded)).collect();
    assert_eq!(hits, [(3, 0), (4, 0), (0, 1)]);
}

#[test]
fn filters_alone_find_everything() {
    let index = index(&["one", "two"]);
    assert_eq!(found(&index, "kind:fact"), [0, 1]);
}

#[derive(Debug, Clone)]
enum IndexStep {
    Put { id: u8, body: String, key: String, author: String, session: Option<String>, importance: f32, second: i64 },
    Remove { id: u8 },
}

fn step() -> impl Strategy<Value = IndexStep> {
    let texts = ("([a-e]{1,2} ){0,8}[?]?", "[a-e]?", "[a-c]?", prop::option::of("[xy]"));
    let put = (0..12_u8, texts, prop::sample::select(vec![0.1, 0.5]), 0..3_i64);
    let put = put.prop_map(|(id, (body, key, author, session), importance, second)| IndexStep::Put {
        id,
        body,
        key,
        author,
        session,
        importance,
        second,
    });
    prop_oneof![3 => put, 1 => (0..12_u8).prop_map(|id| IndexStep::Remove { id })]
}

proptest! {
    #[test]
    fn it_answers_as_one_made_anew(
        steps in prop::collection::vec(step(), 0..60),
        queries in prop::collection::vec("(([a-e]{1,2}|[a-c]{4}|1970) ){1,4}", 1..5),
        limit in 1..15_usize,
    ) {
        let (mut incremental, mut left) = (Index::new(false), BTreeMap::new());
        let put = |index: &mut Index<u8>, version: usize, step: &IndexStep| {
            if let IndexStep::Put { id, body, key, author, session, importance, second } = step {
                let written = Timestamp::from_second(*second * 86_400).unwrap();
                let (importance, session, version) = (*importance, session.as_deref(), version as u64);
                index.put(*id, &Document { key, author, session, version, importance, written, ..document(body) });
            }
        };
        for (version, step) in steps.iter().enumerate() {
            match step {
                IndexStep::Put { id, .. } => {
                    put(&mut incremental, version, step);
                    left.insert(*id, (version, step));
                }
                IndexStep::Remove { id } => {
                    incremental.remove(id);
                    left.remove(id);
                }
            }
        }
        let mut anew = Index::new(false);
        left.values().rev().for_each(|(version, step)| put(&mut anew, *version, step));
        for query in &queries {
            let (hits, others) = (search(&incremental, query, limit), search(&anew, query, limit));
            // Numbers of terms decide the order of additions, which changes the last digits.
            prop_assert_eq!(hits.len(), others.len());
            for (hit, other) in hits.iter().zip(&others) {
                prop_assert!((hit.score - other.score).abs() < 1e-4, "{:?} {:?}", hit, other);
                // The parts are found from the document, the score from the postings.
                let parts: f32 = hit.explanation.as_ref().unwrap().parts.iter().map(|part| part.score).sum();
                prop_assert!((hit.score - parts).abs() < 1e-4, "{:?}", hit);
            }
        }
        prop_assert_eq!(incremental.bytes(), anew.bytes());
    }
}
