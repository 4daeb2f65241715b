//! The most frequent words of languages. They tell the language of a text, and queries leave them out, because they do not
//! help to find anything.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use super::languages::{Language, Languages};

/// The languages in which a lower-cased word is frequent.
pub(super) fn frequent_in(word: &str) -> Languages {
    WORDS.get(word).copied().unwrap_or_default()
}

static WORDS: LazyLock<HashMap<&'static str, Languages, RandomState>> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, Languages, RandomState> = HashMap::default();
    let lists = LISTS.iter().map(|(language, list)| (Languages::of(&[*language]), *list));
    for (languages, list) in lists.chain([(Languages::ALSO_ENGLISH, ALSO_ENGLISH)]) {
        for word in list.split_whitespace() {
            let known = words.entry(word).or_default();
            *known = known.and(languages);
        }
    }
    words
});

/// Ordinary English words that are frequent words of another language.
const ALSO_ENGLISH: &str = "ad ai ale bare bin ci come comment dare den die dig dog door dove due end era fort go ham hat hay hem hoe jest \
    man men met mit mod net nun one os over pace pas per plus pod pour pro sale sans sea sin sit son sons tag tan \
    ten till ton tot tout under vain van via want war wart ya";

/// Articles, pronouns, prepositions, conjunctions, auxiliary verbs, question words, and for English also fillers of questions.
/// Not the English "may", which is a month.
const LISTS: &[(Language, &str)] = &[
    (
        Language::English,
        "a about according after again all also am an and any are aren't as at be because been before being but by can can't \
         cannot could couldn't did didn't do does doesn't doing don't each either ever for from had hadn't has hasn't have \
         haven't having he he's her here hers herself him himself his how how's i i'd i'll i'm i've if in into is isn't it it's \
         its itself just kind kinds let let's like many me mention mentioned might mine much must my myself no nor not of off on \
         onto or our ours ourselves recently s shall she she's should shouldn't so some such than that that's the their theirs \
         them themselves then there there's these they they're this those to too upon us very was wasn't we we're were weren't \
         what what's when when's where where's which while who who's whom whose why why's will with won't would wouldn't you \
         you're your yours yourself yourselves",
    ),
    (
        Language::German,
        "ab aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da damit \
         dann das dass dazu dein deine deinem deinen deiner dem den denn der des dich die dies diese diesem diesen dieser dieses \
         dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure für gegen gibt hab habe haben hat \
         hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist jede jedem jeden jeder jedes \
         jetzt kann kannst kein keine keinem keinen keiner können könnte mal man mein meine meinem meinen meiner mich mir mit \
         muss müssen nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind \
         so soll sollen sondern über um und uns unser unsere unserem unseren unter viel vom von vor wann war waren warum was \
         weil welche welchem welchen welcher welches wem wen wenn wer werde werden weshalb wie wieder will wir wird wo woher \
         wohin wollen worden wurde wurden während zu zum zur zwischen",
    ),
    (
        Language::Spanish,
        "a adónde al algo alguien algún alguna algunas algunos ante antes aquel aquella aquí así aún aunque bajo bien cada casi \
         como cómo con contra cual cuál cuáles cuando cuándo cuánta cuánto cuántos de del desde donde dónde durante e el él ella \
         ellas ellos en entre era eran eres es esa esas ese eso esos esta está están estamos estar estas este esto estos estoy \
         fue fueron ha había han has hasta hay he hemos la las le les lo los más me mi mí mis mucho muy nada ni no nos nosotros \
         nuestra nuestro o os otra otro para pero poco por porque qué que quién quiénes quien se sea según ser si sí sido sin \
         sobre son soy su sus también tan tanto te tener tengo ti tiene tienen todo todos tu tú tus un una unas uno unos usted \
         ustedes y ya yo",
    ),
    (
        Language::French,
        "à ai ainsi après as au aucun aucune aussi autre autres aux avait avant avec avez avoir avons bien c' ce ceci cela celle \
         celui ces cet cette ceux chaque chez ci combien comme comment d' dans de depuis des donc dont du elle elles en encore \
         entre es est et étaient était étant été être eu eux fait faut il ils j' jamais je jusqu' l' la le les leur leurs lors \
         lorsque lui m' ma mais me même mes moi moins mon n' ne ni non nos notre nous on ont ou où par parce pas pendant peu peut \
         plus pour pourquoi puis qu' quand que quel quelle quelles quels qui quoi s' sa sans se sera ses si son sont sous suis \
         sur t' ta te tes toi ton toujours tous tout toute toutes très tu un une vers vos votre vous y ça",
    ),
    (
        Language::Italian,
        "a abbiamo ad ai al alla alle allo anche ancora avere aveva c' che chi ci come con cosa così cui d' da dagli dai dal dall' \
         dalla dalle degli dei del dell' della delle dello di dopo dov' dove due e è ed era erano essere fa faceva fino fra gli \
         ha hai hanno ho i il in io l' la le lei li lo loro lui ma me mi mia mie miei mio molto ne negli nei nel nell' nella nelle \
         nello no noi non nostra nostro o ogni oppure per perché perciò più poi prima qual quale quali quando quanta quante quanti \
         quanto quel quell' quella quelle quelli quello questa queste questi questo qui se sei senza si sia siamo siete sono sta \
         stata stato su sua sue sugli sui sul sull' sulla sulle suo suoi ti tra tu tua tue tuo tutti tutto un un' una uno vi voi",
    ),
    (
        Language::Portuguese,
        "a à ao aos aquela aquele aquilo as às até com como da das de dela dele deles depois do dos e é ela elas ele eles em \
         entre era eram essa esse esta está estamos estão estar estava este estes eu foi foram há isso isto já lhe lhes mais mas \
         me mesmo meu meus minha minhas muito na não nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo \
         pelos por porque quais qual quando quanto quantos que quem se sem ser será seu seus só sobre sua suas também te tem têm \
         tenho ter teu teve tinha tu tua um uma umas uns você vocês",
    ),
    (
        Language::Dutch,
        "aan al alles als altijd andere ben bent bij daar dan dat de der deze die dit doch doen door dus een en er ge geen had \
         hadden heb hebben hebt heeft hem het hier hij hoe hoeveel hun iets ik in is ja je jij jou jouw jullie kan kon kunnen \
         maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons onze ook op over te tegen toch toen \
         tot u uit uw van veel voor waar waarom wanneer want waren was wat we welk welke werd wezen wie wij wil worden wordt zal \
         ze zei zelf zich zij zijn zo zonder zou",
    ),
    (
        Language::Swedish,
        "alla allt att av blev bli blir de dem den denna deras dess dessa det detta dig din dina ditt du där då efter ej \
         eller en er era ett från för ha hade han hans har henne hennes hon honom hur här i icke ingen inom inte jag ju kan kunde \
         man med mellan men mig min mina mitt mot mycket ni nu när någon något några och om oss på samma sedan sig sin sina sitt \
         själv skulle som så sådan till under upp ut utan vad var vara varför varit varje vart vem vi vid vilka vilken vilket vår \
         våra vårt är åt över",
    ),
    (
        Language::Danish,
        "ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dine disse dog du efter eller \
         en end er et for fordi fra ham han hans har havde have hende hendes her hun hvad hvem hver hvilken hvis hvor hvordan \
         hvorfor hvornår i ikke ind jeg jer jo kan kunne man mange med meget men mig min mine mit mod ned noget nogle nu når og \
         også om op os over på selv sig sin sine sit skal skulle som sådan til ud under var vi vil ville vor være været",
    ),
    (
        Language::Norwegian,
        "alle at av bare begge ble bli blir da de deg dem den denne der dere deres det dette di din disse ditt du eller en enn er \
         et ett etter for fordi fra før ha hadde han hans har henne hennes her hun hva hvem hver hvilken hvis hvor hvordan hvorfor \
         i ikke ingen inn jeg kan kunne man mange med meg meget mellom men mer min mitt mot mye mine når noe noen nå og også \
         om opp oss over på samme seg selv si sin sine sitt skal skulle slik som så til ut uten var vår være vært vi vil ville ved",
    ),
    (
        Language::Finnish,
        "ei eivät emme en et ette että he heidän hän hänen ja joka jos jossa joten kanssa keitä ketä koska kuin kuinka kuka kun \
         me meidän mihin mikä mikään miksi milloin minkä minun minut minä missä mistä mitä mukaan mutta myös ne niin niitä nyt \
         nämä ole olemme olen olet oli olivat olla on ovat paljon se sekä sen siellä sinun sinä sitten sitä tai te teidän tuo \
         tämä tämän tässä vaan vai vain vielä voi",
    ),
    (
        Language::Polish,
        "aby albo ale ani bardzo bez bo być był była było były będzie by ci co czy dla do dlaczego gdy gdzie go i ich ile im ja \
         jak jaka jaki jakie jako je jego jej jest jestem jeszcze jeśli już kiedy która które którego której który których kto ma \
         mam mi mnie może my na nad nam nas nasz nie niż no o od on ona one oni oraz po pod przed przez przy są się tak także tam \
         te tego tej ten to tu twój ty tylko tym u w we więc wy z za ze że",
    ),
    (
        Language::Russian,
        "а без бы был была были было быть в вам вас вот все всё вы где да для до его ее её если есть еще ещё же за зачем и из или \
         им их к как какая какие какой каким когда кого который кто куда ли меня мне мой моя мы на над нам нас наш не него нет ни \
         них но ну о об он она они от откуда по под почему при про с сам свой себя со так такой там тебя тем то того тоже только \
         том ты у уже чего чем что чтобы чья эта эти это этого этой этот я",
    ),
    (
        Language::Greek,
        "αν από αυτά αυτή αυτό αυτός για δεν ε είναι είχα είχε εγώ εδώ εκεί ένα ένας εμείς εσύ έχει έχω η ήταν θα και κατά με \
         μετά μη μια μου να ο οι όμως όπως όταν ότι ού που πού πότε πώς ποια ποιο ποιος γιατί προς σε στη στην στις στο στον \
         στους στα συ τα τη την της τι το τον του τους των ως",
    ),
    (
        Language::Arabic,
        "أن أو أي أين إلا إلى إن أنا أنت الذي التي بعد بين تم ثم حتى حول حيث ذلك على عن عند عندما غير في قبل قد كان كانت كل كم \
         كيف لا لقد لكن لم لماذا لن له لها ليس ما ماذا متى مع من منذ نحن هذا هذه هل هم هنا هناك هو هي و يا",
    ),
    (
        Language::Hindi,
        "अपना अपनी अपने आप इन इस इसके उन उस उसके एक और कब कर करना करने कहाँ कहां का कि किस की कुछ के को कोई कौन क्या क्यों क्योंकि गई गए \
         गया जब जहाँ जो तक तब तो था थी थे द्वारा दो नहीं ने पर बहुत भी मुझे मेरा मेरी मेरे में मैं यह या ये रहा रही रहे लिए लेकिन वह वे \
         साथ से हम हमारा हमारी हमारे ही हुआ हुई है हैं हो",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_are_known_by_language() {
        let only = |language| Languages::of(&[language]);
        assert_eq!(frequent_in("whose"), only(Language::English));
        assert_eq!(frequent_in("login"), Languages::default());
        assert_eq!(frequent_in("die"), only(Language::German).and(only(Language::Dutch)).and(Languages::ALSO_ENGLISH));
        assert!(frequent_in("may").is_empty(), "a month");
    }
}
