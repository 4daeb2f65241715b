//! What the index finds, in which order, and that it does not matter how it came to be.

use super::*;
use proptest::prelude::*;

fn document(body: &str) -> Document<'_> {
    Document { body: body.into(), key: "", tags: &[], author: "", written: Timestamp::UNIX_EPOCH, importance: 0.5 }
}

fn index(bodies: &[&str]) -> Index<usize> {
    let mut index = Index::default();
    bodies.iter().enumerate().for_each(|(id, body)| index.put(id, &document(body)));
    index
}

fn found<Id: Ord + Clone>(index: &Index<Id>, query: &str) -> Vec<Id> {
    index.search(&Query::new(query), 10, |_| true).into_iter().map(|(id, _)| id).collect()
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
    let mut index = Index::default();
    let document = Document {
        body: "something".into(),
        key: "project/loginPlan",
        tags: &["urgent work".into()],
        author: "Grace",
        written: "2026-05-08T12:00:00Z".parse().unwrap(),
        importance: 0.5,
    };
    index.put(1, &document);
    for query in ["something", "plan", "login_plan", "urgent", "grace", "8 May", "2026", "2026-05-08"] {
        assert_eq!(found(&index, query), [1], "{query:?}");
    }
    assert_eq!(found(&index, "June"), [0_i32; 0]);
}

#[test]
fn equals_are_ordered_by_importance_then_recency_then_id() {
    let mut index = Index::default();
    // The date is not to tell them apart.
    let at = |second| Timestamp::from_second(second).unwrap();
    for (id, importance, second) in [(4, 0.5, 1), (3, 0.5, 2), (2, 0.9, 1), (1, 0.5, 2), (0, 0.1, 9)] {
        index.put(id, &Document { importance, written: at(second), ..document("same") });
    }
    assert_eq!(found(&index, "same"), [2, 1, 3, 4, 0]);
    for limit in 0..7 {
        let top = index.search(&Query::new("same"), limit, |_| true);
        let ids: Vec<i32> = top.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [2, 1, 3, 4, 0][..limit.min(5)]);
    }
    let admitted = index.search(&Query::new("same"), 2, |id| *id != 2);
    assert_eq!(admitted.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn a_long_query_is_cut_to_its_rarest_terms() {
    let common: Vec<String> = (0..MAX_QUERY_TERMS).map(|index| format!("common{index}")).collect();
    let everywhere = common.join(" ");
    // One more term than are looked for: the commonest is not.
    let index = index(&[&everywhere, &everywhere, "rare", "common0"]);
    assert_eq!(found(&index, &format!("{everywhere} rare")), [0, 1, 2]);
    assert_eq!(found(&index, "common0"), [3, 0, 1]);
}

#[test]
fn an_emptied_index_takes_no_room() {
    let mut index = index(&["one two", "two three", "three four"]);
    assert!(index.bytes() > 500);
    (0..3).for_each(|id| index.remove(&id));
    assert_eq!((index.bytes(), index.numbers.len(), index.total_length), (0, 0, 0));
    index.put(7, &document("five"));
    // Four words and the date's five.
    assert_eq!((index.documents.len(), index.terms.len()), (3, 9), "what is free is used again");
    assert_eq!(found(&index, "five two"), [7]);
}

#[derive(Debug, Clone)]
enum IndexStep {
    Put { id: u8, body: String, key: String, importance: f32, second: i64 },
    Remove { id: u8 },
}

fn step() -> impl Strategy<Value = IndexStep> {
    let put = (0..12_u8, "([a-e]{1,2} ){0,8}", "[a-e]?", prop::sample::select(vec![0.1, 0.5]), 0..3_i64);
    prop_oneof![
        3 => put.prop_map(|(id, body, key, importance, second)| IndexStep::Put { id, body, key, importance, second }),
        1 => (0..12_u8).prop_map(|id| IndexStep::Remove { id }),
    ]
}

proptest! {
    #[test]
    fn it_answers_as_one_made_anew(
        steps in prop::collection::vec(step(), 0..60),
        queries in prop::collection::vec("([a-e]{1,2} ){1,4}", 1..5),
        limit in 1..15_usize,
    ) {
        let (mut incremental, mut left) = (Index::default(), BTreeMap::new());
        let put = |index: &mut Index<u8>, step: &IndexStep| {
            if let IndexStep::Put { id, body, key, importance, second } = step {
                let written = Timestamp::from_second(*second).unwrap();
                index.put(*id, &Document { key, importance: *importance, written, ..document(body) });
            }
        };
        for step in &steps {
            match step {
                IndexStep::Put { id, .. } => {
                    put(&mut incremental, step);
                    left.insert(*id, step);
                }
                IndexStep::Remove { id } => {
                    incremental.remove(id);
                    left.remove(id);
                }
            }
        }
        let mut anew = Index::default();
        left.values().rev().for_each(|step| put(&mut anew, step));
        for query in &queries {
            let query = Query::new(query);
            prop_assert_eq!(incremental.search(&query, limit, |_| true), anew.search(&query, limit, |_| true));
        }
        prop_assert_eq!(incremental.bytes(), anew.bytes());
    }
}
