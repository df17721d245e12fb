"""Where somebody lives and works: the phrases that tell it, a language after another.

They are in the first person, as in `slot_patterns`. A group ``value`` is the place; ``told`` is a verb that tells a
change ("moved to"); ``beside`` and ``others`` are who else is named before the value ("I live with Tom in
Leeds", "Tom and I live in Leeds"); ``left`` where one moved from. A group ``alike`` marks phrases that tell as well
of a course or of the night ("started at", "arbeite bei"): only what is surely an employer is one behind them.
"""

from __future__ import annotations

_NOW = r"(?:(?:now|currently|still|just|recently|am|is|have|has|been|already|finally|permanently|actually|both) )*"
SELF = rf"[Ii](?:['’](?:m|ve|s))? {_NOW}"
MY = r"(?:[Mm]y|[Oo]ur) (?:(?:current|new|own|present) )?"

PROPER = r"(?P<value>[A-Z][\w'’.&-]*(?: (?:of |de |la |am |an der |upon |the )?[A-Z][\w'’.&-]*)*)(?!['’\w])"

# Who lives with others says "we", and they move together.
_HOUSEHOLD = (
    r"(?P<others>(?:(?:[Mm]y|[Oo]ur) [\w-]+|[A-Z][\w-]+) and (?=I ))?"
    rf"(?:[Ii](?:['’](?:m|ve|s))?|[Ww]e(?:['’](?:re|ve))?) (?:(?:are|all) )?{_NOW}"
)
# Where in a place one lives is no other place: "in a small flat in Leeds", "in the centre of Leeds".
_WITHIN = (
    r"(?:(?:an?|the|my|our|his|her|their) "
    r"(?!(?:[\w-]+ ){0,3}?(?:holiday|second|summer|winter|weekend|vacation|temporary) )(?:[\w-]+ ){0,4}?"
    r"(?:flat|apartment|house|home|studio|bungalow|cottage|condo|loft|penthouse|townhouse|duplex|maisonette|place|room|"
    r"farm(?:house)?|village|town|suburbs?|neighbou?rhood|cent(?:re|er)|heart|middle|outskirts|north|south|east|west|"
    r"part|area|district) (?:in|of) )?(?:(?:cent(?:ral|re)|downtown|inner) )?"
)
# Behind the place that somebody moved to; "York office", "York Street meeting", "Windows 11" are no places to live in.
_MOVED_END = (
    r"(?=$|[.,;:!?()—–]| (?:with|without|and|but|because|so|since|for|as|after|before|in|on|at|from|near|by|where|"
    r"which|who|when|while|last|this|yesterday|today|tonight|recently|now|again|an?|the|two|three|four|few|\d+ \w+ ago|"
    r"over|during|to|then|instead|finally|already|together|alone|early|late|back|permanently|just|I|we|my|our)\b)"
)
# A stay that ends, a move of long ago, and one of several tell of no home of today.
_FOR_GOOD = (
    r"(?!.*\b(?:years? ago|ages ago|decades? ago|long (?:time )?ago|when (?:\w+ ){1,3}?(?:was|were)|before (?:I|we) |"
    r"at (?:age|the age)|originally|later|then (?:on )?to)\b)"
    r"(?!.*\bfor (?:an?|one|two|three|four|five|six|some|\d+) (?:day|night|week|month|year|semester|term|while|bit|"
    r"visit|holiday|trip|conference|meeting)s?\b)"
)
_WHEN = (
    r"(?:(?:[Yy]esterday|[Tt]oday|[Rr]ecently|[Ff]inally|(?:[Ll]ast|[Tt]his) (?:week(?:end)?|month|year|spring|summer|"
    r"autumn|fall|winter|[A-Z][a-z]+day)),? )?"
)
# Of the countries that are called so; "the York office" is no place to live in.
_THE = r"(?:the (?=(?:Netherlands|Hague|UK|USA?|UAE|United|States|Philippines|Czech|Bahamas|Maldives|Gambia)\b))?"
# Who starts somewhere works there; or studies, trains, boards a train there, or begins to count.
_NO_EMPLOYER = (
    r"(?!(?:[\w'’.&-]+ )*?(?:University|Uni|College|School|Academy|Institute|Conservatory|Kindergarten|Nursery|"
    r"\w*[Gg]ym|Fitness|Club|CrossFit|Yoga|Station|Airport|Junction|Cross|Level|Chapter|Page|Step|Stage|Phase|Grade|Year|Day|"
    r"Yale|Harvard|MIT|Oxford|Cambridge|Stanford|Princeton|Columbia|UCLA|ETH|Noon|Midnight|Christmas|Easter|Dawn)\b)"
    r"(?![A-Z][a-z]+day\b)"
)
WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
# What has begun, or begins within days: what begins later hasn't ended anything yet.
_STARTED_END = (
    rf"(?=(?:(?:[.,;!] ?|$)| (?:today|yesterday|tomorrow|recently|(?:last|this) \w+|next week|"
    rf"(?:an?|two|three|few|\d+) \w+ ago|(?:on |next |this )+(?:the )?{WEEKDAY}(?!s)|as an? [\w -]+)(?=$|[.,;!]| ))+)"
    r"(?!.*\b(?:left|quit|resigned|fired|in (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*|next (?:month|year|"
    r"spring|summer|autumn|fall|winter))\b)"
)

_ENGLISH: tuple[tuple[str, str], ...] = (
    (
        "home",
        rf"{_HOUSEHOLD}(?:lives?|living|lived(?=.*\b(?:for|since)\b)|resid(?:es?|ing)|based) "
        rf"(?P<beside>(?:together )?with [^,.;]{{2,40}}? )?in {_WITHIN}{_THE}{PROPER}",
    ),
    (
        "home",
        rf"(?:{_WHEN}{_HOUSEHOLD}|(?:[Jj]ust|[Rr]ecently|[Ff]inally) )(?P<told>moved|relocated)"
        r"(?: (?:back|over|house|up|down|out|away|together|yesterday|recently))*"
        rf"(?: from (?P<left>[\w ]+?))? (?:in)?to {_WITHIN}{_FOR_GOOD}{_THE}{PROPER}{_MOVED_END}",
    ),
    ("home", rf"{MY}(?:home|home city|city of residence) is (?:now )?(?:in )?{PROPER}"),
    (
        "employer",
        rf"{SELF}(?:work(?:s|ing)? (?:full[- ]time |part[- ]time )?(?:at|for)|employed (?:at|by)|"
        rf"(?:started|starting) (?:working|a new job|my new job|work|a job) (?:at|for|with)|"
        rf"got (?:a|the|my) (?:new )?job (?:at|with)|got hired (?:at|by)|"
        rf"(?:accepted|took) (?:a|the) (?:new )?(?:job|position|offer|role) (?:at|from|with)|switched jobs? to|"
        rf"joined(?= [A-Z]\S* as an? )) {PROPER}",
    ),
    (
        "employer",
        rf"(?:{SELF}|[Ii](?:['’]ll| will) (?:be )?)(?P<told>start(?:s|ed|ing)?)(?P<alike>)(?: as an? [\w -]+?)? at "
        r"(?:the )?"
        rf"{_NO_EMPLOYER}{PROPER}{_STARTED_END}",
    ),
    ("employer", rf"{MY}(?:employer|company(?P<alike>)) is (?:now )?{PROPER}"),
    ("employer", rf"{MY}job is (?:now )?(?P<alike>)(?:at|with) {PROPER}"),
    (
        "employer",
        r"[Ii](?:['’]ve)? (?:just |recently |finally )*(?:left|quit) "
        r"(?P<left>[A-Z][\w'’.&-]*(?: [A-Z][\w'’.&-]*)*) and "
        rf"(?:I(?:['’]m)? )?(?:am )?(?P<told>now work(?:ing)?|work(?:ing)? now) (?:at|for) {PROPER}",
    ),
)

_WITHIN_GERMAN = (
    r"(?:(?:eine[rmn]?|der|dem|unsere[rm]|meine[rm]) (?:[\w-]+ ){0,3}?(?:\w*[Ww]ohnung|\w*[Hh]aus|WG|\w*[Zz]immer|Nähe|"
    r"Zentrum|Stadtteil|Dorf) (?:in|von) )?"
)
_GERMAN: tuple[tuple[str, str], ...] = (
    (
        "home",
        rf"(?:(?:[Ii](?:ch)?|[Ww]ir) )?(?:(?:wohn|leb)(?:t|en?|te)) (?:(?:ich|wir) )?(?:(?:jetzt|nun|inzwischen|"
        rf"seit \S+|mittlerweile|derzeit|wieder) )*(?P<beside>(?:zusammen )?mit [^,.;]{{2,40}}? )?in "
        rf"{_WITHIN_GERMAN}{PROPER}",
    ),
    (
        "home",
        r"(?:(?:[Gg]estern|[Hh]eute|[Ll]etzte\w* \w+) (?:bin|sind) (?:ich|wir) |[Ii](?:ch)? (?:bin|ist) |[Ww]ir sind )"
        r"(?:(?:jetzt|nun|inzwischen|gerade|kürzlich|vor kurzem|gestern|heute|endlich|letzte\w* \w+|diese\w* \w+|"
        r"mit (?:mein|unser)\w* \w+) )*nach (?P<value>[A-Z]\S*(?: [A-Z]\S*)*) (?P<told>(?:um)?gezogen)",
    ),
    (
        "employer",
        rf"[Ii](?:ch)? arbeitet?e? (?P<alike>)(?:(?:jetzt|nun|inzwischen|derzeit|wieder) )*(?:bei|für) (?:der |"
        rf"dem )?{PROPER}",
    ),
    (
        "employer",
        r"[Ii](?:ch)? habe (?:(?:gestern|heute|gerade|jetzt|kürzlich|letzte\w* \w+|diese\w* \w+) )*bei (?:der |dem )?"
        rf"{PROPER} (?P<told>angefangen)(?P<alike>)",
    ),
    (
        "employer",
        r"[Ii](?:ch)? (?P<told>fange) (?P<alike>)(?:(?:jetzt|morgen|nächste Woche|am \w+tag|am Mittwoch) )*bei "
        r"(?:der |dem )?"
        rf"{PROPER} an\b",
    ),
)

_WITHIN_FRENCH = (
    r"(?:dans (?:une?|notre|mon|ma|le|la) (?:[\w-]+ ){0,3}?(?:appartement|maison|studio|chambre|village|banlieue|"
    r"quartier|ville)(?: [\w-]+)? )?"
)
_FRENCH: tuple[tuple[str, str], ...] = (
    (
        "home",
        r"(?:[Jj]['’]habite|[Jj]e vis|[Nn]ous (?:habitons|vivons)|[Oo]n (?:habite|vit)|I habite|I vit) "
        r"(?:(?:maintenant|désormais|actuellement) )*(?P<beside>avec [^,.;]{2,40}? )?"
        rf"{_WITHIN_FRENCH}(?:à|en|au|aux) {PROPER}",
    ),
    (
        "home",
        r"(?:(?:[Hh]ier|[Rr]écemment),? )?(?:[Jj]['’]ai|[Nn]ous avons|[Oo]n a|I a|[Jj]e me suis(?=.*installé)|"
        r"[Nn]ous nous sommes(?=.*installé)) (?:(?:récemment|maintenant|enfin) )*"
        r"(?P<told>déménagé|emménagé|(?:(?<=suis )|(?<=sommes ))installée?s?) (?:hier |récemment )?"
        rf"{_WITHIN_FRENCH}(?:à|en|au|aux) {PROPER}",
    ),
    (
        "employer",
        rf"(?:[Jj]['’]ai|I a) (?:(?:hier|récemment|enfin) )*(?P<told>commencé) (?:à travailler |(?P<alike>))(?:hier )?"
        rf"(?:chez|pour) {PROPER}",
    ),
    (
        "employer",
        r"[Jj]e (?P<told>commence) (?P<alike>)(?:(?:demain|la semaine prochaine|lundi|mardi|mercredi|jeudi|vendredi) )?"
        rf"(?:chez|pour) {PROPER}(?! (?:en|le mois|l['’]année))",
    ),
    ("employer", rf"(?:[Jj]e|I) travaille (?:(?:maintenant|désormais|actuellement) )*(?:chez|pour) {PROPER}"),
)

_WITHIN_SPANISH = (
    r"(?:(?:una?|el|la|nuestr[oa]|mi) (?:[\w-]+ ){0,3}?(?:piso|apartamento|casa|estudio|habitación|pueblo|barrio|"
    r"centro|ciudad)(?: [\w-]+)? (?:en|de) )?"
)
_SPANISH: tuple[tuple[str, str], ...] = (
    (
        "home",
        r"(?:(?:(?:[Yy]o|[Nn]osotr[oa]s) )?(?:[Aa]hora |[Aa]ctualmente )?[Vv]iv(?:o|imos)|I (?:ahora )?vive) (?:ahora |"
        rf"actualmente )?(?P<beside>con [^,.;]{{2,40}}? )?en {_WITHIN_SPANISH}{PROPER}",
    ),
    (
        "home",
        r"(?:(?:[Aa]yer|[Rr]ecientemente),? )?(?:[Mm]e (?:he )?|[Nn]os (?:hemos )?|I se (?:ha )?)(?:ahora )?"
        r"(?P<told>mudé|mudamos|mudado|mudó) (?:(?:ahora|ayer|recientemente|con (?:mi|nuestr)\w* \w+) )*"
        r"(?!.*\b(?:próxim\w+|mañana|que viene|pronto)\b)"
        rf"a {_WITHIN_SPANISH}{PROPER}",
    ),
    (
        "employer",
        r"(?P<told>[Ee]mpecé|[Hh]e empezado|[Ee]mpiezo) (?:(?:ayer|mañana|el lunes|el martes|la próxima semana) )?"
        rf"a trabajar (?:en|para) {PROPER}",
    ),
    ("employer", rf"(?:(?:[Yy]o )?(?:[Aa]hora )?[Tt]rabajo|I trabaja) (?:ahora )?(?:en|para) {PROPER}"),
)

_CHINESE: tuple[tuple[str, str], ...] = (
    (
        "home",
        r"(?=(?P<beside>.*[和跟与])?)(?:昨天)?(?:我们?)?(?:[和跟与][^\s，。住搬]{1,8}?)?"
        r"(?:现在|目前|已经|昨天|上周|一起|刚|刚刚|最近|都)*(?:居?住在|(?P<told>搬到|搬去|搬家到)了?)"
        r"(?P<value>[^\s，。！？、；,.!?和跟与的了]{1,24})",
    ),
    (
        "employer",
        r"我(?:[^\s，。]{0,5}?)(?P<told>开始)(?P<alike>)在(?P<value>[^\s，。！？、；,.!?]{1,20}?)(?:工作|上班)",
    ),
    ("employer", r"我(?:刚|刚刚|昨天|最近|上周|今天)*(?P<told>入职)了?(?P<value>[^\s，。！？、；,.!?了]{1,20})"),
    ("employer", r"我(?:现在|目前)*(?P<alike>)在(?P<value>[^\s，。！？、；,.!?]{1,20}?)(?:工作|上班)"),
)

PLACES: tuple[tuple[str, str], ...] = (*_ENGLISH, *_GERMAN, *_FRENCH, *_SPANISH, *_CHINESE)
