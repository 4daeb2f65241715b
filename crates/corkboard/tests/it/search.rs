//! Ranked search over an agent's memory: always current, private, in every stored scope.

use corkboard::{
    AgentMemory, ClearOptions, Corkboard, EntryMetadata, LimitName, NoteId, Options, Refusal, Search, SearchHit, Tier,
};
use serde_json::json;

use crate::common::{Home, agent_a, days, limit, on_every_store, refusal, start};

/// The hits in order: keys, and numbers of notes.
fn names(hits: &[SearchHit]) -> Vec<String> {
    hits.iter().map(|hit| hit.key().map_or_else(|| format!("#{}", hit.note().unwrap()), String::from)).collect()
}

async fn found(agent: &AgentMemory, query: &str) -> Vec<String> {
    names(&agent.search(query).words_only(true).await.unwrap())
}

#[tokio::test]
async fn every_change_is_found_by_the_next_search() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        assert_eq!(found(&agent, "zebra").await, [""; 0]);
        memory.set("animal", "a zebra").await.unwrap();
        assert_eq!(found(&agent, "zebras").await, ["animal"]);
        memory.set("animal", "a lion").await.unwrap();
        assert_eq!((found(&agent, "zebra").await, found(&agent, "lion").await), (vec![], vec!["animal".into()]));
        memory.append("animal", " and a tiger").await.unwrap();
        assert_eq!(found(&agent, "tiger").await, ["animal"]);
        memory.update("animal", |old: Option<String>| old.unwrap().replace("tiger", "puma")).await.unwrap();
        assert_eq!((found(&agent, "tiger").await, found(&agent, "puma").await), (vec![], vec!["animal".into()]));
        let note = memory.add_note("a giraffe was seen").await.unwrap();
        assert_eq!(found(&agent, "giraffe").await, [format!("#{note}")]);
        assert!(memory.remove_note(note).await.unwrap());
        assert_eq!(found(&agent, "giraffe").await, [""; 0]);
        memory.set("animal", "a lion, a puma, and far away a giraffe").await.unwrap();
        let note = memory.add_note("giraffe, giraffe").await.unwrap();
        assert_eq!(names(&agent.search("giraffe").limit(1).await.unwrap()), [format!("#{note}")]);
        assert!(memory.remove_note(note).await.unwrap());
        assert_eq!(
            names(&agent.search("giraffe").limit(1).await.unwrap()),
            ["animal"],
            "a removed entry should not use up the limit"
        );

        let snapshot = agent.snapshot().await.unwrap();
        memory.remove("animal").await.unwrap();
        assert_eq!(found(&agent, "lion").await, [""; 0]);
        agent.restore(snapshot.clone()).await.unwrap();
        assert_eq!(found(&agent, "lion").await, ["animal"]);

        memory.set("brief", "an antelope").metadata(days(1)).await.unwrap();
        assert_eq!(found(&agent, "antelope").await, ["brief"]);
        home.clock.set(start() + jiff::SignedDuration::from_hours(25));
        assert_eq!(found(&agent, "antelope").await, [""; 0], "expired, and not yet swept");
        memory.set("other", "x").await.unwrap();
        assert_eq!(found(&agent, "antelope").await, [""; 0], "swept");

        agent.forget("animal").await.unwrap();
        assert_eq!(found(&agent, "lion").await, [""; 0]);
        agent.restore(snapshot).await.unwrap();
        agent.clear(ClearOptions::default()).await.unwrap();
        assert_eq!(found(&agent, "lion").await, [""; 0]);
        memory.set("animal", "a lion again").await.unwrap();
        assert_eq!(found(&agent, "lion").await, ["animal"]);
    })
    .await;
}

/// Texts of a language, and queries with the text that comes first.
type OfLanguage<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, usize)]);

/// Other forms of the texts' words, or parts of texts without spaces.
const LANGUAGES: &[OfLanguage<'_>] = &[
    (
        "English",
        &[
            "We bought new tyres for the car",
            "The children painted a sunrise",
            "Our server crashes on Mondays",
            "The café is closed",
        ],
        &[("Which tyre did we buy?", 0), ("Who was painting sunrises?", 1), ("server crash", 2), ("cafes", 3)],
    ),
    (
        "German",
        &[
            "Wir haben am Samstag neue Reifen für das Auto gekauft",
            "Die Kinder haben ein schönes Haus mit einem Baum gemalt",
            "Der Server ist gestern abgestürzt, weil die Platte voll war",
            "Meine Schwester wohnt seit drei Jahren in der Schweiz",
        ],
        &[
            ("Reifens", 0),
            ("Wer malt schöne Häuser?", 1),
            ("Bäume", 1),
            ("Was ist mit den Servern?", 2),
            ("Wo wohnen meine Schwestern?", 3),
        ],
    ),
    (
        "French",
        &[
            "Nous avons acheté une nouvelle voiture",
            "Les enfants dessinent des maisons au bord de la mer",
            "Le serveur finit la sauvegarde pendant la nuit",
            "J'étudie à l'école de musique avec mes amis",
        ],
        &[
            ("voitures nouvelles", 0),
            ("Quel enfant dessine une maison ?", 1),
            ("Quand finissons-nous ?", 2),
            ("sauvegardes des serveurs", 2),
            ("ecole", 3),
        ],
    ),
    (
        "Spanish",
        &[
            "Compramos un coche nuevo para la familia",
            "Los niños cantan canciones en el jardín",
            "El servidor se cayó durante la noche",
            "Mi hermana vive en una ciudad pequeña",
        ],
        &[
            ("coches nuevos", 0),
            ("cantábamos", 1),
            ("¿Qué canción cantó el niño?", 1),
            ("servidores caídos", 2),
            ("ciudades pequeñas", 3),
        ],
    ),
    (
        "Russian",
        &[
            "Мы купили новую машину в субботу",
            "Дети рисовали зелёный дом",
            "Сервер упал ночью из-за ошибки",
            "Моя сестра живёт в маленьком городе",
        ],
        &[("новые машины", 0), ("домами", 1), ("зеленые дома", 1), ("ошибка сервера", 2), ("Где живут сёстры?", 3)],
    ),
    (
        "Chinese",
        &["我们星期六买了新轮胎", "孩子们画了一座房子", "服务器昨晚崩溃了", "我姐姐住在一个小城市"],
        &[("轮胎", 0), ("房子", 1), ("服务器崩溃", 2), ("城市", 3)],
    ),
    (
        "Japanese",
        &[
            "土曜日に新しいタイヤを買いました",
            "子供たちは家の絵を描いた",
            "昨夜サーバーが停止しました",
            "妹は小さな町に住んでいます",
        ],
        &[("タイヤ", 0), ("絵を描く", 1), ("サーバーの停止", 2), ("小さい町", 3)],
    ),
    (
        "Arabic",
        &[
            "اشترينا سيارة جديدة يوم السبت",
            "رسم الأطفال بيتا جميلا",
            "تعطل الخادم في الليل",
            "قرأت كتابا عن تاريخ المدينة",
        ],
        &[("السيارة الجديدة", 0), ("البيت الجميل", 1), ("خادم", 2), ("الكتاب", 3)],
    ),
    (
        "Korean",
        &[
            "토요일에 새 타이어를 샀습니다",
            "아이들이 집을 그렸다",
            "어젯밤에 서버가 멈췄습니다",
            "여동생은 작은 도시에 삽니다",
        ],
        &[("타이어", 0), ("아이들은", 1), ("서버는", 2), ("도시에서", 3)],
    ),
    (
        "Hindi",
        &[
            "हमने शनिवार को नई गाड़ी खरीदी",
            "बच्चों ने एक सुंदर घर बनाया",
            "कल रात सर्वर बंद हो गया",
            "मेरी बहन के पास बहुत किताबें हैं",
        ],
        &[("गाड़ियाँ", 0), ("सुंदर घर", 1), ("सर्वर", 2), ("किताब", 3)],
    ),
];

#[tokio::test]
async fn many_languages_are_searched() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let mixed = corkboard.agent("mixed").unwrap();
    for (language, texts, _) in LANGUAGES {
        let alone = corkboard.agent(language).unwrap();
        for (at, text) in texts.iter().enumerate() {
            let key = format!("{language}/{at}");
            alone.working().set(&key, text).await.unwrap();
            mixed.working().set(&key, text).await.unwrap();
        }
    }
    for (language, _, queries) in LANGUAGES {
        for (query, expected) in *queries {
            for agent in [corkboard.agent(language).unwrap(), mixed.clone()] {
                let found = found(&agent, query).await;
                let expected = format!("{language}/{expected}");
                assert_eq!(found.first(), Some(&expected), "{query}: {found:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_deleted_agent_is_no_longer_found() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("animal", "a zebra").await.unwrap();
        assert_eq!(found(&agent, "zebra").await, ["animal"]);
        corkboard.delete_agent("A").await.unwrap();
        assert_eq!(found(&agent, "zebra").await, [""; 0]);
        memory.set("other", "a zebra").await.unwrap();
        assert_eq!(found(&agent, "zebra").await, ["other"]);
    })
    .await;
}

#[tokio::test]
async fn writes_of_another_process_are_found() {
    let home = Home::sqlite();
    let (here, there) = (home.open().await, home.open().await);
    let (mine, its) = (here.agent("A").unwrap(), there.agent("A").unwrap());
    assert_eq!(found(&mine, "zebra").await, [""; 0]);
    for round in 0..5 {
        let word = format!("zebra{round}");
        its.working().set("animal", &word).await.unwrap();
        assert_eq!(found(&mine, &word).await, ["animal"]);
        mine.working().set("animal", "none").await.unwrap();
        assert_eq!(found(&its, &word).await, [""; 0]);
    }
    its.working().add_note("a zebra").await.unwrap();
    assert_eq!(found(&here.agent("A").unwrap(), "zebra").await, ["#1"]);
    there.delete_agent("A").await.unwrap();
    assert_eq!(found(&mine, "zebra").await, [""; 0]);
}

#[tokio::test]
async fn durable_scopes_are_searched_and_ephemeral_ones_are_not() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let stored = memory.create_durable_scope("task-1").await.unwrap();
        let passing = memory.create_scope("passing").await.unwrap();
        memory.set("animal", "a zebra").await.unwrap();
        memory.set("filler", &"nothing of interest ".repeat(50)).await.unwrap();
        stored.set("animal", "a zebra and a lion").await.unwrap();
        stored.add_note("zebra, zebra, zebra").await.unwrap();
        passing.set("animal", "a zebra").await.unwrap();
        let hits = agent.search("zebra").await.unwrap();
        let mut scopes: Vec<_> =
            hits.iter().map(|hit| hit.scope.as_ref().map_or("root", |scope| scope.name.as_str())).collect();
        scopes.sort_unstable();
        assert_eq!(scopes, ["root", "task-1", "task-1"]);
        let hits = agent.search("lion").await.unwrap();
        assert_eq!(hits[0].scope.as_ref().unwrap().id, stored.id());
        assert_eq!(names(&agent.search("zebra").limit(1).await.unwrap()), ["#1"]);
        stored.dispose().await.unwrap();
        assert_eq!(found(&agent, "zebra").await, ["animal"]);
        assert_eq!(
            names(&agent.search("zebra").limit(1).await.unwrap()),
            ["animal"],
            "a disposed scope should not use up the limit"
        );
        assert_eq!(found(&agent, "lion").await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn agents_do_not_find_each_others_memory() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let (a, b) = (corkboard.agent("a").unwrap(), corkboard.agent("b").unwrap());
        a.working().set("animal", "a zebra").await.unwrap();
        b.working().set("plant", "a tree").await.unwrap();
        b.working().add_note("zebras are elsewhere").await.unwrap();
        assert_eq!(found(&a, "zebra tree").await, ["animal"]);
        assert_eq!(found(&b, "zebra").await, ["#1"]);
        assert_eq!(found(&corkboard.agent("c").unwrap(), "zebra").await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_hit_says_what_was_found_where_and_why() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let metadata = EntryMetadata {
            importance: Some(0.9),
            tags: Some(vec!["project".into()]),
            author: Some("Grace".into()),
            ..EntryMetadata::default()
        };
        let value = json!({"goal": "add\nlogin", "port": 8080, "steps": ["schema", "routes"]});
        memory.set("plan", &value).metadata(metadata).await.unwrap();
        memory.add_note("prefers short answers").await.unwrap();
        for query in ["login", "goal", "8080", "schema", "plan", "project", "grace", "2026-02-04", "February"] {
            assert!(found(&agent, query).await.contains(&"plan".to_owned()), "{query}");
        }
        let hits = agent.search("routes?").await.unwrap();
        let mut hit = serde_json::to_value(&hits[0]).unwrap();
        assert!(hit["score"].take().as_f64().unwrap() > 0.0);
        let expected = json!({
            "key": "plan", "version": 1, "importance": 0.9, "tags": ["project"], "scope": null, "score": null,
            "snippet": "goal: add login, port: 8080, steps: schema, routes",
            "author": "Grace", "at": "2026-02-04T12:00:00Z", "trust": "agent", "folded": 0, "explanation": null,
        });
        // The `f32` 0.9 differs from the `f64` 0.9 when widened.
        hit["importance"] = json!(0.9);
        assert_eq!(hit, expected);
        let hits = agent.search("answer").await.unwrap();
        assert_eq!((hits[0].note(), hits[0].key()), (Some(NoteId(1)), None));
        let mut hit = serde_json::to_value(&hits[0]).unwrap();
        hit["score"] = json!(null);
        let author = hit["author"].take();
        assert!(author.is_string());
        let snippet = "prefers short answers";
        let timestamp = "2026-02-04T12:00:00Z";
        let expected = json!({
            "note": 1, "scope": null, "score": null, "snippet": snippet, "author": null, "at": timestamp, "trust": "agent",
            "folded": 0, "explanation": null
        });
        assert_eq!(hit, expected);
    })
    .await;
}

#[tokio::test]
async fn a_query_must_not_be_blank_or_too_long() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        memory.set("a", "word").await.unwrap();
        for blank in ["", " ", "\n\t \u{a0}", "\u{0}\u{1b}"] {
            assert_eq!(refusal(agent.search(blank).await), Refusal::Blank { what: "query".into() }, "{blank:?}");
        }
        let long = "x".repeat(1024 * 1024);
        assert_eq!(refusal(agent.search(&long).await), limit(LimitName::QueryBytes, 1024 * 1024, 16 * 1024));
        let longest = "word ".repeat(16 * 1024 / 5);
        assert_eq!(found(&agent, &longest).await, ["a"]);
    })
    .await;
}

#[tokio::test]
async fn unusual_queries_and_texts_never_fail() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        memory.set("question", "what is this").await.unwrap();
        memory.set("cjk", "東京は日本の首都です").await.unwrap();
        memory.set("emoji", "ship it 🚀").await.unwrap();
        memory.set("control", "bell\u{7} and esc\u{1b}[31m").await.unwrap();
        memory.set("accents", "Übergrößenträger").await.unwrap();
        memory
            .set("deep", &serde_json::from_str::<serde_json::Value>("[[[[[[\"nested\"]]]]]]").unwrap())
            .await
            .unwrap();
        for (query, expected) in [
            ("what is this", &["question"] as &[&str]),
            ("首都", &["cjk"]),
            ("都", &["cjk"]),
            ("東京タワー", &["cjk"]),
            ("🚀", &["emoji"]),
            ("🚀🚀🚀", &["emoji"]),
            ("bell\u{0}", &["control"]),
            ("übergrössenträger übergrößenträger", &["accents"]),
            ("ÜBERGRÖẞENTRÄGER", &["accents"]),
            ("nested", &["deep"]),
            ("\" OR * NEAR( -x", &[]),
            ("…", &[]),
            ("\u{202e}\u{feff}", &[]),
        ] {
            assert_eq!(found(&agent, query).await, expected, "{query:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_limit_out_of_range_is_refused() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        for index in 0..60 {
            memory.set(&format!("k{index}"), "zebra").await.unwrap();
        }
        assert_eq!(agent.search("zebra").await.unwrap().len(), Search::LIMIT);
        for limit in [1, 3, 50] {
            assert_eq!(agent.search("zebra").limit(limit).await.unwrap().len(), limit);
        }
        for limit in [0, 51, usize::MAX] {
            assert_eq!(agent.search("zebra").limit(limit).await.unwrap_err().code(), "out_of_range", "{limit}");
        }
    })
    .await;
}

#[tokio::test]
async fn ties_are_ordered_by_importance_then_recency_then_key() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let second = |second| home.clock.set(start() + jiff::SignedDuration::from_secs(second));
        memory.set("b", "zebra").await.unwrap();
        memory.set("a", "zebra").await.unwrap();
        let important = EntryMetadata { importance: Some(0.8), ..EntryMetadata::default() };
        memory.set("important", "zebra").metadata(important).await.unwrap();
        second(5);
        memory.set("newer", "zebra").await.unwrap();
        assert_eq!(found(&agent, "zebra").await, ["important", "newer", "a", "b"]);
    })
    .await;
}

#[tokio::test]
async fn a_large_memory_is_searched_while_it_is_written() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let text = "many words of no interest to anybody at all ".repeat(100);
        for index in 0..40 {
            memory.set(&format!("long{index}"), &format!("{text} needle{index} {text}")).await.unwrap();
        }
        let writer = {
            let memory = memory.clone();
            tokio::spawn(async move {
                for index in 0..50 {
                    memory.set("counter", &format!("count{index}")).await.unwrap();
                }
            })
        };
        let searches = (0..40).map(|index| {
            let agent = agent.clone();
            tokio::spawn(async move {
                let hits = agent.search(&format!("needle{index}")).await.unwrap();
                assert_eq!(names(&hits), [format!("long{index}")]);
                assert!(hits[0].snippet.contains(&format!("needle{index}")), "{hits:?}");
                assert!(hits[0].snippet.chars().count() <= Search::SNIPPET);
            })
        });
        for search in searches.collect::<Vec<_>>() {
            search.await.unwrap();
        }
        writer.await.unwrap();
        assert_eq!(found(&agent, "count49").await, ["counter"]);
    })
    .await;
}

async fn fill(corkboard: &Corkboard, agents: usize) -> Vec<AgentMemory> {
    let mut filled = Vec::new();
    for index in 0..agents {
        let agent = corkboard.agent(&format!("agent-{index}")).unwrap();
        for key in 0..20 {
            let words: Vec<String> = (0..50).map(|word| format!("word{key}x{word}")).collect();
            agent.working().set(&format!("k{key}"), &words).await.unwrap();
        }
        filled.push(agent);
    }
    filled
}

#[tokio::test]
async fn indexes_count_against_the_budget_and_are_evicted_with_their_states() {
    let home = Home::sqlite();
    let corkboard = home.open().await;
    let agents = fill(&corkboard, 3).await;
    let states = corkboard.resident().1;
    for agent in &agents {
        found(agent, "word1x1").await;
    }
    let with_indexes = corkboard.resident().1;
    assert!(with_indexes > states * 2, "{states} {with_indexes}");
    for agent in &agents {
        found(agent, "word2x2").await;
    }
    assert_eq!(corkboard.resident().1, with_indexes, "an index is counted once");
    agents[0].clear(ClearOptions::default()).await.unwrap();
    let cleared = corkboard.resident().1;
    assert!(cleared < with_indexes * 3 / 4, "clearing a memory should free its index: {cleared} of {with_indexes}");
    assert_eq!(found(&agents[0], "word1x1").await, [""; 0]);
    agents[1].forget("k1").await.unwrap();
    let forgotten = corkboard.resident().1;
    assert!(forgotten < cleared * 3 / 4, "forgetting should shrink the index: {forgotten} of {cleared}");
    assert_eq!(found(&agents[1], "word1x1 word2x2").await, ["k2"]);

    // Memory for one index, not for three.
    let budget = (with_indexes - states) / 3 + states;
    let corkboard = home.open_with(Options { memory_budget: budget, ..home.options() }).await;
    let agents: Vec<_> = (1..3).map(|index| corkboard.agent(&format!("agent-{index}")).unwrap()).collect();
    for round in 5..8 {
        for agent in &agents {
            assert_eq!(found(agent, &format!("word{round}x1")).await, [format!("k{round}")]);
            assert!(corkboard.resident().1 <= budget, "{:?} of {budget}", corkboard.resident());
        }
    }
    drop(agents);
}

#[tokio::test]
async fn search_works_with_a_memory_budget_of_nothing() {
    let home = Home::sqlite();
    let corkboard = home.open_with(Options { memory_budget: 1, ..home.options() }).await;
    let agent = &fill(&corkboard, 1).await[0];
    for round in 0..3 {
        assert_eq!(found(agent, &format!("word{round}x1")).await, [format!("k{round}")]);
        assert_eq!(corkboard.resident(), (0, 0), "neither state nor index stays");
    }
}

#[tokio::test]
async fn other_words_with_the_same_meaning_are_found() {
    let home = Home::sqlite();
    let corkboard = home.open().await;
    let agent = corkboard.agent("A").unwrap();
    agent.working().set("car", "We bought new automobile tyres").await.unwrap();
    agent.working().set("lunch", "The soup needs salt").await.unwrap();
    let hits = agent.search("vehicle wheels").await.unwrap();
    assert_eq!(names(&hits), ["car"]);
    assert!(hits[0].score < 0.4, "a hit without the words should not pass for a good match: {hits:?}");
    assert_eq!(found(&agent, "vehicle wheels").await, [""; 0]);
    corkboard.close().await.unwrap();

    let core = Corkboard::open_with(home.url(), Options { tier: Tier::Core, ..Options::default() }).await.unwrap();
    let hits = core.agent("A").unwrap().search("vehicle wheels").await.unwrap();
    assert_eq!(names(&hits), [""; 0], "the tier core has no model");
}

#[tokio::test]
async fn hits_are_folded_explained_and_limited_by_tokens() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        for (key, text) in [
            ("a", "The release goes out on Friday evening"),
            ("b", "the release goes out on friday evening!"),
            ("c", "A release needs the notes of all teams"),
        ] {
            memory.set(key, text).await.unwrap();
        }
        let hits = agent.search("release on Friday").explain(true).await.unwrap();
        assert_eq!(hits.iter().map(|hit| hit.folded).collect::<Vec<_>>(), [1, 0], "{hits:?}");
        for hit in &hits {
            let parts: f32 = hit.explanation.as_ref().unwrap().parts.iter().map(|part| part.score).sum();
            assert!((parts - hit.score).abs() < 1e-4, "{hit:?}");
        }
        assert!(hits[0].explanation_text().starts_with("releas "), "{}", hits[0].explanation_text());
        for (tokens, count) in [(1, 1), (10, 1), (1000, 2)] {
            assert_eq!(agent.search("release").budget(tokens).await.unwrap().len(), count, "{tokens} tokens");
        }
        let found = names(&agent.search("\"goes out\" key:b").await.unwrap());
        assert_eq!(found, ["b"]);
    })
    .await;
}
