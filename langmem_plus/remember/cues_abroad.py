"""Cues in other languages than English, by their commonest forms: kind, weight and pattern, as in `cues.Cue`."""

from __future__ import annotations

from typing import TypeAlias

from langmem_plus.prompts import FactKind

Announcement: TypeAlias = tuple[FactKind, int, str]

GERMAN: tuple[Announcement, ...] = (
    ("fact", 5, r"ich nehme (?:\w+ ){0,3}?\d+(?:[.,]\d+)?\s?(?:mg|µg|g|ml|IE|Tabletten?|Tropfen)\b"),
    ("fact", 6, r"(?:ich heiße|mein (?:\w+)?name ist|nenn(?:e|t)? mich)\b"),
    (
        "instruction",
        7,
        r"(?:ab jetzt|von nun an|in zukunft|künftig|(?:bitte )?(?:immer|nie|niemals) |(?:bitte )?(?:antworte|"
        r"schreib|nenn|verwende|benutz|gib|nimm|duz|siez|sprich)\w* .*\b(?:immer|nie|niemals|stets)\b)",
    ),
    (
        "preference",
        6,
        r"ich (?:\w+ ){0,2}?(?:mag|liebe|hasse|bevorzuge|verabscheue|vermeide)\b|ich \w+ (?:\w+ ){0,6}?(?:gern|"
        r"gerne|lieber|am liebsten)\b",
    ),
    (
        "preference",
        6,
        r"(?:mein|meine) lieblings\w+|ich bin (?:\w+ )?(?:allergisch|vegan|vegetari|veganer|ein fan|kein fan)",
    ),
    (
        "commitment",
        6,
        r"(?:ich habe|wir haben) .*\b(?:entschieden|beschlossen|versprochen|vereinbart|zugesagt|gebucht)\b",
    ),
    (
        "goal",
        4,
        r"mein (?:\w+ )?ziel ist|ich (?:möchte|will|lerne|trainiere|spare)\b.*\b(?:lernen|werden|abnehmen|für|auf)\b",
    ),
    ("fact", 6, r"ich bin (?:[\w-]+ ){0,3}?gegen .{2,40} allergisch\b"),
    ("fact", 5, r"ich (?:esse|trinke|vertrage|rauche) (?:\w+ ){0,2}?(?:kein\w{0,2}|nie|niemals|nicht)\b"),
    ("fact", 5, r"ich lerne (?:gerade |seit \w+ \w+ |zurzeit )?(?-i:[A-ZÄÖÜ])\w+"),
    (
        "fact",
        4,
        r"wir (?:\w+ )?(?:wohnen|leben) |(?:wir sind|(?:gestern|heute|letzte\w* \w+) (?:bin|sind) (?:ich|wir)) "
        r"(?:\w+ ){0,4}?nach (?:\w+ ){1,3}(?:um)?gezogen|ich (?:habe (?:\w+ ){0,2}?bei (?:\S+ ){1,3}angefangen|"
        r"fange (?:\w+ ){0,2}?bei (?:\S+ ){1,3}an)\b|wir haben (?:eine?n?|zwei|drei|vier|fünf|\d+) (?!frage|problem|"
        r"bitte|idee|termin|moment)",
    ),
    ("fact", 5, r"(?:jetzt |inzwischen |mittlerweile )?(?:wohne|lebe|arbeite|studiere|komme aus) \w+"),
    (
        "fact",
        5,
        r"ich bin (?!Ihnen|Ihrer|Okay|Ok\b)(?-i:[A-ZÄÖÜ][a-zäöüß-]{2,})(?=\W*$|,| (?:an|bei|in|von|aus|und|für|"
        r"seit)\b)",
    ),
    ("fact", 5, r"ich (?:\w+ )?(?:wohne|lebe|arbeite|studiere|komme aus|besitze|spiele|spreche|unterrichte)\b"),
    (
        "fact",
        4,
        r"ich (?:habe|hab) (?:eine?n?|zwei|drei|vier|\d+) (?!frage|problem|bitte|idee)|ich bin (?:eine? |\d+|aus |"
        r"verheiratet|geschieden|ledig|schwanger|von beruf|(?:\w+ ){1,5}(?:gezogen|umgezogen|geboren))",
    ),
    (
        "fact",
        4,
        r"(?:mein|meine|unser|unsere) (?!frage|problem)[\w-]+ (?:\w+ )?(?:heißt|ist|wohnt|lebt|arbeitet|hat|mag)\b",
    ),
    ("fact", 4, r"ich \w+ (?:\w+ ){0,6}?(?:nicht mehr|kein\w* .* mehr)\b"),
)
FRENCH: tuple[Announcement, ...] = (
    ("fact", 5, r"je prends (?:\w+ ){0,3}?\d+(?:[.,]\d+)?\s?(?:mg|µg|g|ml|UI|comprimés?|gouttes?)\b"),
    (
        "fact",
        5,
        r"je ne (?:mange|fume|supporte|digère|tolère) (?:\w+ )?(?:pas|plus|jamais)\b|je ne bois (?:pas|jamais)",
    ),
    (
        "fact",
        5,
        r"j['’]apprends (?:le |la |l['’]|les |à )|(?:nous (?:habitons|vivons|travaillons)|on (?:habite|vit)) |"
        r"(?:hier,? |récemment,? )?(?:nous avons|on a|j['’]ai) (?:enfin |récemment )?(?:dé|em)ménagé\b|"
        r"je me suis installée? |nous nous sommes installée?s |(?:j['’]ai commencé|je commence) (?:\w+ ){0,3}?chez ",
    ),
    (
        "fact",
        4,
        r"nous avons (?:une?|deux|trois|quatre|\d+) (?!question|problème|souci|idée|doute)|mon mot de passe est\b",
    ),
    ("fact", 6, r"(?:je m['’]appelle|mon nom est|appelle(?:z)?-moi)\b"),
    (
        "instruction",
        7,
        r"(?:désormais|dorénavant|à partir de maintenant|(?:s['’]il te plaît,? |merci de )?(?:réponds|répondez|"
        r"utilise|utilisez|écris|écrivez|appelle|tutoie)\b.*\b(?:toujours|jamais)\b|toujours |ne .* jamais)",
    ),
    (
        "preference",
        6,
        r"(?:j['’](?:aime|adore)|je (?:préfère|déteste|hais|n['’]aime (?:pas|plus)|suis (?:allergique|végétari\w+|"
        r"végan\w*|fan de)))\b",
    ),
    ("preference", 6, r"(?:mon|ma|mes) [\w-]+ (?:préférée?s?|favorit\w+)\b"),
    ("commitment", 6, r"(?:j['’]ai|nous avons|on a) (?:décidé|promis|choisi|convenu|réservé)\b"),
    (
        "goal",
        4,
        r"mon (?:but|objectif) est|je (?:veux|voudrais|m['’]entraîne|économise)\b.*\b(?:apprendre|devenir|pour)\b",
    ),
    (
        "fact",
        5,
        r"(?:j['’](?:habite|étudie|enseigne)|je (?:vis|travaille|viens de|parle|joue|ne \w+ plus)|j['’]ai déménagé|"
        r"j['’]ai (?:\d+|deux|trois) (?:ans)?)\b",
    ),
    (
        "fact",
        4,
        r"j['’]ai (?:une? |deux |trois |\d+ )(?!question|problème|souci|idée)|je suis (?:une? |né|née|marié|"
        r"célibataire|divorcé|enceinte|infirmi|professeur|ingénieur|médecin)",
    ),
    (
        "fact",
        4,
        r"(?:mon|ma|mes|notre|nos) (?!question|problème)[\w-]+(?: d(?:e |['’])[\w-]+)? "
        r"(?:s['’]appelle(?:nt)?|est|sont|a|habite|travaille)\b",
    ),
)
SPANISH: tuple[Announcement, ...] = (
    ("fact", 5, r"no (?:como|bebo|tomo|fumo|tolero|puedo (?:comer|beber|tomar)) (?!eso|esto|nada|más)\w+"),
    ("fact", 6, r"(?:me llamo|mi nombre es|llámame)\b"),
    (
        "instruction",
        7,
        r"(?:a partir de ahora|de ahora en adelante|(?:por favor,? )?(?:siempre|nunca) |(?:responde|usa|utiliza|"
        r"escribe|contesta)\b.*\b(?:siempre|nunca)\b)",
    ),
    (
        "preference",
        6,
        r"(?:yo )?(?:prefiero|odio|detesto|adoro|no soporto|evito)\b|(?:a mí )?(?:no )?me (?:gustan?|encantan?|"
        r"fascinan?)\b|(?:yo )?soy (?:alérgic|vegetarian|vegan)",
    ),
    ("preference", 6, r"mis? [\w]+(?: \w+)? (?:favorit\w+|preferid\w+)\b"),
    (
        "commitment",
        6,
        r"(?:he|hemos) (?:decidido|prometido|acordado|elegido|reservado)\b|(?:decidí|decidimos|prometí)\b",
    ),
    ("goal", 4, r"mi (?:meta|objetivo) es|quiero (?:aprender|ser|llegar)\b"),
    (
        "fact",
        5,
        r"(?:yo )?(?:vivimos|nos (?:mudamos|hemos mudado) a|(?:empecé|empiezo|he empezado) (?:\w+ ){0,3}?a trabajar|"
        r"vivo|trabajo|estudio|soy (?:de|una?|\w+[oa]\b)|me mudé|nací|hablo|toco|enseño|ya no \w+)\b",
    ),
    (
        "fact",
        4,
        r"(?:yo )?(?:tengo|tenemos) (?!que\b|una? (?:pregunta|problema|duda|idea)|dudas?|problemas?)|estoy (?:casad|"
        r"divorciad|embarazad|solter)",
    ),
    (
        "fact",
        4,
        r"(?:mi|mis|nuestr[oa]s?) (?!pregunta|problema|duda)[\w-]+(?: de [\w-]+| electrónico)? "
        r"(?:se llaman?|es|son|está|vive|trabaja|tiene)\b",
    ),
)
CHINESE: tuple[Announcement, ...] = (
    ("instruction", 7, r"(?:请)?(?:总是|永远|始终|从现在起|以后|每次)"),
    ("fact", 6, r"我(?:叫|的名字|姓)|叫我"),
    (
        "preference",
        6,
        r"我(?:也|很|最|更|非常|特别|比较|真的|一直|还|不太)*(?:喜欢|讨厌|爱|偏好|偏爱|习惯|不喜欢|不爱|不吃|不喝)|我对.{1,12}过敏",
    ),
    ("commitment", 6, r"(?:我|我们)(?:已经|刚|刚刚)*(?:决定|答应|保证|约好|预订|报名)"),
    ("goal", 4, r"我(?:的目标|想学|打算|计划|正在学)"),
    (
        "fact",
        5,
        r"(?:住在|来自)\w|(?:我|我们)(?:现在|目前|一直|已经|刚|刚刚|不再|再也不)*(?:上周|上个?月|去年|昨天|最近|前年|今年)?(?:住在|住|在.{1,20}(?:当|做|担任|工作|上班|上学|读书|学习|生活)|来自|搬到|搬家|入职|是(?!不是|"
        r"想|说|问)|今年|养了|"
        r"有(?!(?:个|一个)?(?:问题|疑问|点))|每天|每周)",
    ),
    (
        "fact",
        4,
        r"(?:我|我们)(?:的)?(?:妻子|老婆|太太|丈夫|老公|先生|女儿|儿子|孩子|爸爸|妈妈|父亲|母亲|哥哥|弟弟|姐姐|妹妹|女朋友|男朋友|狗|猫|生日|密码|电话|邮箱|工作|公司|家|老板|同事|朋友)",
    ),
)
