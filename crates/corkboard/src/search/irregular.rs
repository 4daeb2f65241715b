//! English forms that a stemmer cannot reduce: irregular verbs and plurals.

/// The base form of a lower-cased word, if the word is irregular.
pub(super) fn base_form(word: &str) -> Option<&'static str> {
    let found = IRREGULAR.binary_search_by_key(&word, |(form, _)| form).ok()?;
    IRREGULAR.get(found).map(|(_, base)| *base)
}

/// Forms and their base forms, sorted.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"), ("baked", "bake"), ("became", "become"), ("began", "begin"), ("begun", "begin"), ("bent", "bend"),
    ("bitten", "bite"), ("blew", "blow"), ("blown", "blow"), ("bought", "buy"), ("bred", "breed"), ("broke", "break"),
    ("broken", "break"), ("brought", "bring"), ("built", "build"), ("burnt", "burn"), ("came", "come"),
    ("caught", "catch"), ("children", "child"), ("chose", "choose"), ("chosen", "choose"), ("crept", "creep"),
    ("dealt", "deal"), ("drank", "drink"), ("drawn", "draw"), ("dreamt", "dream"), ("drew", "draw"),
    ("driven", "drive"), ("drove", "drive"), ("drunk", "drink"), ("dug", "dig"), ("eaten", "eat"), ("fallen", "fall"),
    ("fed", "feed"), ("feet", "foot"), ("fell", "fall"), ("felt", "feel"), ("fled", "flee"), ("flew", "fly"),
    ("flown", "fly"), ("forgave", "forgive"), ("forgiven", "forgive"), ("forgot", "forget"), ("forgotten", "forget"),
    ("fought", "fight"), ("found", "find"), ("froze", "freeze"), ("frozen", "freeze"), ("gave", "give"),
    ("geese", "goose"), ("given", "give"), ("goes", "go"), ("gone", "go"), ("got", "get"), ("gotten", "get"),
    ("grew", "grow"), ("grown", "grow"), ("halves", "half"), ("heard", "hear"), ("held", "hold"), ("hid", "hide"),
    ("hidden", "hide"), ("hung", "hang"), ("kept", "keep"), ("knew", "know"), ("knives", "knife"), ("known", "know"),
    ("laid", "lay"), ("lain", "lie"), ("learnt", "learn"), ("led", "lead"), ("left", "leave"), ("lent", "lend"),
    ("life", "live"), ("lit", "light"), ("lives", "live"), ("lost", "lose"), ("made", "make"), ("meant", "mean"),
    ("men", "man"), ("met", "meet"), ("mice", "mouse"), ("outgrew", "outgrow"), ("outgrown", "outgrow"),
    ("overcame", "overcome"), ("paid", "pay"), ("people", "person"), ("proven", "prove"), ("ran", "run"),
    ("rebuilt", "rebuild"), ("redid", "redo"), ("redone", "redo"), ("retold", "retell"), ("rewritten", "rewrite"),
    ("rewrote", "rewrite"), ("ridden", "ride"), ("risen", "rise"), ("rode", "ride"), ("rose", "rise"),
    ("said", "say"), ("sang", "sing"), ("sank", "sink"), ("sat", "sit"), ("saw", "see"), ("seen", "see"),
    ("selves", "self"), ("sent", "send"), ("sewn", "sew"), ("shaken", "shake"), ("shelves", "shelf"),
    ("shone", "shine"), ("shook", "shake"), ("shot", "shoot"), ("shown", "show"), ("slept", "sleep"),
    ("sold", "sell"), ("sought", "seek"), ("sown", "sow"), ("spent", "spend"), ("spoke", "speak"),
    ("spoken", "speak"), ("sprang", "spring"), ("sprung", "spring"), ("spun", "spin"), ("stole", "steal"),
    ("stolen", "steal"), ("stood", "stand"), ("struck", "strike"), ("stuck", "stick"), ("sung", "sing"),
    ("sunk", "sink"), ("swam", "swim"), ("swept", "sweep"), ("swore", "swear"), ("sworn", "swear"), ("swum", "swim"),
    ("swung", "swing"), ("taken", "take"), ("taught", "teach"), ("teeth", "tooth"), ("thought", "think"),
    ("threw", "throw"), ("thrown", "throw"), ("told", "tell"), ("took", "take"), ("tore", "tear"), ("torn", "tear"),
    ("undergone", "undergo"), ("understood", "understand"), ("underwent", "undergo"), ("undid", "undo"),
    ("undone", "undo"), ("went", "go"), ("wept", "weep"), ("withdrawn", "withdraw"), ("withdrew", "withdraw"),
    ("wives", "wife"), ("woke", "wake"), ("woken", "wake"), ("wolves", "wolf"), ("women", "woman"), ("won", "win"),
    ("wore", "wear"), ("worn", "wear"), ("written", "write"), ("wrote", "write"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(IRREGULAR.is_sorted());
        for (form, base) in
            [("went", Some("go")), ("children", Some("child")), ("written", Some("write")), ("walked", None)]
        {
            assert_eq!(base_form(form), base, "{form}");
        }
    }
}
