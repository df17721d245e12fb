"""Words that are about nothing themselves, by language: they tell where a phrase begins and ends, and which language
it is. Every set is small: the words that people use all the time. What isn't in a list is taken for a word that says
something.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Language:
    """One language's words: what a noun stands after (``articles``, ``prepositions``), what ends a phrase (``verbs``,
    ``copulas``, ``others``), what joins two nouns to one phrase (``joints``), after what a verb stands as a
    participle (``auxiliaries``), and who is called by name (``relations``).
    """

    name: str
    articles: frozenset[str]
    prepositions: frozenset[str]
    copulas: frozenset[str]
    verbs: frozenset[str]
    others: frozenset[str]
    joints: frozenset[str] = frozenset()
    auxiliaries: frozenset[str] = frozenset()
    participle: str = r"(?!)"  # how a verb ends that stands after one of them
    relations: frozenset[str] = frozenset()
    determiners: frozenset[str] = frozenset()  # what a noun follows, even one that is a verb elsewhere: "my work"
    nouns_are_capitalised: bool = False
    adjectives_follow: bool = False

    @functools.cached_property
    def function_words(self) -> frozenset[str]:
        """Everything but verbs, which differ too much, and relations, which are topics."""
        return self.articles | self.prepositions | self.copulas | self.others

    def knows(self, folded: str) -> bool:
        """Whether it has such a word in its lists."""
        return folded in self.function_words or folded in self.verbs


def _set(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


ENGLISH = Language(
    "en",
    articles=_set("""a an the my our your his her its their this these that those some any each every another no
        both all several many few more most two three four five six seven eight nine ten"""),
    prepositions=_set("""in on at of for from with without about into onto over under between by near against during
        through across around like than per via to towards including except"""),
    copulas=_set("am is are was were be been being i'm we're you're they're become became as called named"),
    verbs=_set("""have has had having do does did doing done go goes going went gone get gets getting got make makes
        making made take takes taking took want wants wanted need needs needed needing like likes liked love loves
        loved hate hates hated prefer prefers preferred enjoy enjoys enjoyed use uses used using work works worked
        working live lives lived living move moves moved moving play plays played playing learn learns learned
        learning study studies studied studying teach teaches eat eats eating ate drink drinks drinking drank buy
        buys buying bought sell sold try tries tried trying start starts started starting stop stops stopped
        stopping finish finished keep keeps kept say says said tell tells told ask asked remember forget know knows
        knew think thinks thought feel feels felt see sees saw meet meets met meeting hurt hurts write writes
        writing wrote read reads reading run runs running ran walk walks drive drives driving drove fly flies flying
        flew travel travels travelling travelled visit visited visiting come comes came coming give gives gave help
        helped helps check answer answers answered decide decided plan plans planned planning prepare preparing
        prepared migrate switch switched change changed choose chose call calls put puts pay pays paid cost costs
        adopt adopted speak speaks spoke spend spends spent train trains training trained join joined leave leaves
        left leaving lost lose broke broken building build built cook cooks cooking bake bakes collect collects
        watch watches watching listen listens avoid avoids manage manages run grew born married retired allergic
        interested responsible based scheduled booked hired let lets show shows call sleep sleeps wake wakes grow
        grows wear wears own owns owned"""),
    others=_set("""user users i you he she it we they me him us them who which what when where why how whenever if
        because so and or but nor then also just really very too quite only always never usually often sometimes
        ever again still already yet now today tomorrow yesterday soon later ago once twice before after until since
        while honestly please maybe perhaps actually currently recently well much lot lots bit kind sort thing
        things something anything nothing everything someone anyone everyone can could will would should must may
        might shall cannot not don't won't can't doesn't didn't isn't aren't wasn't weren't couldn't wouldn't
        shouldn't haven't hasn't i've we've you've they've i'd we'd i'll we'll you'll it's he's she's that's there's
        what's there here yes yeah ok okay thanks thank hi hello hey great good nice new old sorry sure up down out
        off away back own same other last next day days week weeks month months year years hour hours minute minutes
        time times morning evening afternoon night monday tuesday wednesday thursday friday saturday sunday weekend
        january february march april june july august september october november december end beginning long short
        early late big small first second third one ones whatever instead anymore even though whether let's"""),
    joints=_set("of"),
    determiners=_set("a an the my our your his its their"),
    auxiliaries=_set("have has had having i've we've you've they've"),
    participle=r"ed$",
    relations=_set("""wife husband partner girlfriend boyfriend son daughter sister brother mother father mum mom
        dad friend boss colleague cousin aunt uncle niece nephew dog cat teacher neighbour neighbor roommate
        grandmother grandfather manager"""),
)

GERMAN = Language(
    "de",
    articles=_set("""der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner unser
        unsere unseren unserem unserer dein deine deinen sein seine seinen ihr ihre ihren kein keine keinen keinem
        dieser diese dieses diesen jeder jede jedes viele alle einige zwei drei vier fünf sechs sieben acht neun
        zehn"""),
    prepositions=_set("""in im ins an am auf aus bei beim mit nach von vom zu zum zur für über unter vor hinter
        neben zwischen durch gegen ohne um seit während wegen statt ab bis außer"""),
    copulas=_set("bin ist sind war waren bist seid wäre gewesen werde wird wurde als heiße heißt heißen namens"),
    verbs=_set("""habe hat haben hatte hatten mache macht machen gehe geht gehen ging komme kommt kommen wohne wohnt
        wohnen lebe lebt leben arbeite arbeitet arbeiten spiele spielt spielen lerne lernt lernen esse isst essen
        trinke trinkt trinken lese liest lesen schreibe schreibt schreiben mag mögen liebe liebt lieben hasse hasst
        hassen will wollen möchte möchten kann können muss müssen soll sollen darf brauche braucht brauchen nehme
        nimmt nehmen sagt sage sagen fahre fährt fahren kaufe kauft kaufen gibt geben bekomme bekommt verstehe
        versteht finde findet bevorzuge nutze nutzt nutzen benutze vertrage verträgt suche sucht plane plant leitet
        zieht ziehe gezogen umgezogen gelernt gekauft empfohlen verschoben arbeitete studiere studiert mache merk
        denk erinnere"""),
    others=_set("""nutzer nutzerin benutzer benutzerin ich du er sie es wir ihr mich mir dich dir uns euch ihm ihn
        ihnen sich man wer was wann wo wie warum dass ob weil wenn aber oder und denn sondern doch auch noch nur
        schon sehr zu so nicht nie immer oft manchmal jetzt heute morgen gestern bald später deshalb darum dann da
        hier dort bitte danke vielen dank super gern gerne lieber eigentlich vielleicht ja nein mal etwas alles
        nichts viel mehr hoch neu alt gut letzten letzte letztes nächsten nächste monat monate monaten woche wochen
        tag tage tagen jahr jahre jahren uhr stunde stunden minuten montag dienstag mittwoch donnerstag freitag
        samstag sonntag januar februar märz april mai juni juli august september oktober november dezember morgens
        abends mittags nachts abend mittag nacht wochenende
        wieso weshalb wohin woher welche welcher welches wieviel"""),
    relations=_set("""frau mann tochter sohn schwester bruder mutter vater freund freundin chef chefin kollege
        kollegin onkel tante oma opa hund katze kater partner partnerin lehrer lehrerin nachbar nachbarin cousin
        cousine herr herrn"""),
    nouns_are_capitalised=True,
)

SPANISH = Language(
    "es",
    articles=_set("""el la los las un una unos unas mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta
        estos estas ese esa al del lo cada otro otra algún alguna ningún ninguna dos tres cuatro cinco seis siete
        ocho nueve diez"""),
    prepositions=_set("a en de con sin por para sobre entre desde hasta hacia contra durante según"),
    copulas=_set("soy es son era eran eres somos fui fue como llamo llama llaman llamado llamada ser"),
    verbs=_set("""tengo tiene tenemos tienen tenía he ha hemos han había hago hace hacemos hacer voy va vamos van ir
        vivo vive vivimos viven vivir trabajo trabaja trabajamos trabajan trabajar estudio estudia estudiar aprendo
        aprender juego juega jugamos juegan jugar como come comemos comen comer bebo bebe beber prefiero prefiere
        preferimos odio odia encanta encantan gusta gustan quiero quiere queremos quieren necesito necesita puedo
        puede podemos debo debe uso usa usamos usan desplegamos empiezo empieza empezar compro compra comprar leo
        lee leer escribo escribe hablo habla estoy está estamos están viene vienen vengo recuerda recuerdo sé sabe
        cuesta ahorrando recorrer concentrarme roto gané mudé mudo muda dice digo dijo doy da tomo toma busco busca
        llevo lleva estudié compré adopté adoptamos"""),
    others=_set("""usuario usuaria yo tú él ella nosotros ellos ellas me te se nos le les que quien qué quién cuando
        donde cómo porque si y e o u pero ni también ya no sí muy más menos todo todos toda todas nada algo alguien
        siempre nunca a veces hoy mañana ayer ahora luego después antes aquí allí gracias perfecto vale bien mal
        hola favor mes meses semana semanas año años día días hora horas tarde lunes martes miércoles jueves viernes
        sábado sábados domingo domingos enero febrero marzo abril mayo junio julio agosto septiembre octubre
        noviembre diciembre pasado pasada próximo próxima mucho mucha muchos muchas poco tan solo además
        dónde adónde cuál cuáles cuánto cuánta cuántos cuántas cuándo"""),
    joints=_set("de del"),
    auxiliaries=_set("he has ha hemos han había estoy estás está estamos están estaba sigo sigue seguimos"),
    participle=r"(?:[ai]do|ando|iendo|yendo)$",
    adjectives_follow=True,
    relations=_set("""mujer esposa marido esposo novia novio hijo hija hermano hermana madre padre amigo amiga jefe
        jefa primo prima tío tía abuelo abuela perro perra gato gata profesor profesora vecino vecina"""),
)

FRENCH = Language(
    "fr",
    articles=_set("""le la les un une des du au aux l mon ma mes ton ta tes son sa ses notre nos votre vos leur
        leurs ce cet cette ces chaque quelques deux trois quatre cinq six sept huit neuf dix"""),
    prepositions=_set("à de d en dans avec sans pour par sur sous chez entre vers depuis pendant contre selon"),
    copulas=_set("suis est sont étais était êtes sommes es être appelle appelles appelons comme devenu"),
    verbs=_set("""ai as a avons avez ont avais avait fais fait faisons font faire vais va allons vont aller habite
        habites habitons habitent vis vit travaille travailles travaillons travaillent travailler joue joues jouons
        jouer apprends apprend apprendre mange manges mangeons manger bois boit boire préfère préférons préfères
        aime aimes aimons adore adores déteste détestes veux veut voulons vouloir peux peut dois doit utilise
        utilisons prépare prépares prépares lis lit lire écris écrit parle parles viens vient adopté acheté acheter
        commencé commence étudie étudier dirige dirigent cherche trouve prends prend déménagé rappelle souviens dit
        dis"""),
    others=_set("""utilisateur utilisatrice je j tu il elle on nous vous ils elles me m te t se s lui y que qu qui
        quoi quand où comment pourquoi si et ou mais ni car donc aussi encore déjà ne n pas plus jamais toujours
        souvent très trop bien mal peu beaucoup tout tous toute toutes rien merci bonjour oui non parfait aujourd
        hui hier demain maintenant ici là temps fois an ans année années mois semaine semaines jour jours heure
        heures matin soir lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin
        juillet août septembre octobre novembre décembre dernier dernière prochain prochaine toi moi eux panne fermé
        cher chère c ça cela combien quel quelle quels quelles"""),
    joints=_set("de d du des"),
    auxiliaries=_set("ai as a avons avez ont avais avait suis est sommes sont"),
    participle=r"(?:é|u|i)e?s?$",
    adjectives_follow=True,
    relations=_set("""femme mari copine copain fils fille sœur frère mère père ami amie chef cheffe collègue cousin
        cousine oncle tante chien chienne chat chatte professeur professeure voisin voisine"""),
)

SPACED = (ENGLISH, GERMAN, SPANISH, FRENCH)

CALENDAR = _set("""monday tuesday wednesday thursday friday saturday sunday january february march april may june july
    august september october november december christmas easter montag dienstag mittwoch donnerstag freitag samstag
    sonntag januar februar märz mai juni juli oktober dezember""")
TITLES = _set("mr mrs ms dr prof st mme m sr sra don doña herr herrn frau")

# Chinese: what stands between words that say something; of single characters, what makes them parts of other words.
CHINESE_BREAKS = _set("""用户 使用者 正在准备 每天早上 不喜欢 下个月 上个月 这个月 为什么 怎么样 喜欢 最近 现在
    以后 以前 今天 明天 昨天 每天 早上 晚上 下午 上午 周末 星期 正在 准备 已经 因为 所以
    但是 而且 如果 还是 或者 我们 你们 他们 她们 咱们 自己 没有 不能 不会 不要 不想 不是
    不好 可以 应该 需要 打算 希望 记得 记住 回答 谢谢 太好了 工作 上班 住在 搬到 来自 名叫
    叫做 时候 觉得 知道 学习 参加 有点 非常 特别 比较 一起 每周 去年 今年 明年 刚刚 终于
    几乎""")
_CHARACTERS = "请我你您他她它了着是在和跟与把被也都就很还没来到吃喝养买叫姓让给从向为又再最更太吗呢吧啊呀这那几个只位们"
_SPLIT_CHARACTERS = (
    "过(?![敏程年期滤度])", "会(?![议计员])", "想(?![法象])", "(?<![大中小数化文科医哲])学(?![校生院期历])",
    "对(?![象手])", "的(?!确)", "不(?!锈)", "有(?!机)", "能(?![力量])", "要(?!求)", "用(?![品户])", "看(?!病)",
    "读(?!书)", "说(?!明)", "去", "做",
)  # fmt: skip
CHINESE_SPLIT = re.compile(
    "|".join((*sorted(CHINESE_BREAKS, key=len, reverse=True), *_SPLIT_CHARACTERS, f"[{_CHARACTERS}]"))
)

_WORD = re.compile(r"[^\W_](?:[\w+#]|[-.&](?=[^\W_])|['’](?=(?:s|t|m|d|re|ve|ll)\b))*", re.IGNORECASE)
_ELIDED = re.compile(r"\b(qu|jusqu|lorsqu|puisqu|[cdjlmnst])['’](?=\w)", re.IGNORECASE)
_SHAPED = re.compile(r"^.+[A-ZÀ-Þ]|^[A-ZÀ-Þ]\d")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+|(?<!\S)[^\s@]{1,64}@\S+")
_STATEMENT_END = re.compile(r"[.!?…:;\n]")
POSSESSIVE = "'s"
_FEWEST = 0.3  # share of a text's words that are in the lists of its language


class Word(NamedTuple):
    """A word of a text: as it stands, folded, where it stands, and whether a sentence (``opens``) or a part of one
    (``breaks``) begins with it.
    """

    text: str
    folded: str
    start: int
    end: int
    opens: bool
    breaks: bool

    @property
    def capital(self) -> bool:
        """Whether it is written with a capital."""
        return self.text[:1].isupper()

    @property
    def shaped(self) -> bool:
        """Whether no plain word is written so: "PostgreSQL", "AWS", "V70"."""
        return bool(_SHAPED.search(self.text))


def apart(text: str) -> str:
    """The text with elided words apart and without addresses, as long as it was: "j'habite" gives "j habite"."""
    return _ELIDED.sub(r"\1 ", _ADDRESS.sub(lambda address: " " * len(address.group()), text))


def read_words(text: str) -> list[Word]:
    """The words of a text in their order."""
    found: list[Word] = []
    for match in _WORD.finditer(apart(text)):
        between = text[found[-1].end : match.start()] if found else "\n"
        title = bool(found) and found[-1].folded in TITLES and between.strip() == "."
        opens = not title and bool(_STATEMENT_END.search(between))
        breaks = opens or (not title and bool(between.strip(" \t\"'“”«»’")))
        folded = match.group().casefold().replace("’", "'")
        found.append(Word(match.group(), folded, match.start(), match.end(), opens, breaks))
    return found


def find_language(words: Sequence[Word]) -> Language | None:
    """The language that has most of the words in its lists, each counted once; None where all have too few."""
    own = {word.folded for word in words}
    counted = [(sum(map(language.knows, own)), language) for language in SPACED]
    count, best = max(counted, key=lambda pair: pair[0])
    return best if count and count >= _FEWEST * len(own) else None
