"""What users ask of memory itself: to keep something, or to forget it."""

from __future__ import annotations

import re

POLITE = (
    r"(?:please |pls |(?:can|could|will|would) you (?:please )?|also |and |bitte |und |auch |por favor,? |y |et |"
    r"s['’]il (?:te|vous) pla[iî]t,? |请|麻烦|帮我|[¿¡])*"
)
# "Remember that …": what follows is to be kept.
ASKED = re.compile(
    rf"{POLITE}(?:(?:remember|memori[sz]e|note|keep in mind|bear in mind|take note|make a (?:mental )?note|"
    rf"(?:don['’]t|do not|never) forget)"
    r"(?:,? (?:please|this|for (?:me|later|next time|the future)))*(?: that\b|\s*[:,–—-]|(?= (?:my|our|I|we|"
    r"I['’]\w+)\b))|"
    r"(?:merk(?:e)? dir|denk(?:e)? daran|vergiss nicht|notier(?:e)?(?: dir)?|behalte)(?: bitte)?(?:\s*[:,–—-]|,? "
    r"dass\b)|"
    r"(?:souviens-toi|rappelle-toi|retiens|n['’]oublie pas|note(?:z)?)(?: bien)?(?:\s*[:,–—-]|,? que\b| qu['’])|"
    r"(?:recuerda|no olvides|ten en cuenta|apunta|anota)(?:\s*[:,–—-]|,? que\b)|"
    r"(?:记住|记一下|记下来|记得|别忘了|不要忘记)[：:，,]?)\s*",
    re.IGNORECASE,
)
# "…, please remember that": what went before is to be kept.
ASKED_AFTER = re.compile(
    r"(?:\s?[,;.!–—-]\s?|\s)?\b(?:please |so )?(?:(?:remember|note|memori[sz]e|(?:don['’]t|never) forget) (?:that|"
    r"this|it)|"
    r"keep (?:that|this|it) in mind"
    r"|merk dir das|vergiss das nicht|souviens-t['’]en|ne l['’]oublie pas|recuérdalo|no lo olvides)(?: "
    r"please)?[\s.!]{0,9}$|[，,。]?\s*(?:请)?(?:记住|别忘了)[。!！]?$",
    re.IGNORECASE,
)
_KEEP = r"(?:remember|memori[sz]e|save|store|keep|note|record|log|write down)"
_NOT = (
    r"(?:don['’]t|do not|never|no need to|you (?:don['’]t|do not) (?:have|need) to|"
    r"(?:you )?(?:shouldn['’]t|mustn['’]t)|"
    r"I(?:['’]d)? (?:(?:really )?(?:don['’]t|do not|wouldn['’]t)) (?:want|like) you to|"
    r"I(?:['’]d)? (?:prefer|rather|want|like) (?:(?:that )?you |you to )?not(?: to)?|(?:please )?not to|refrain from)"
)
# "Don't remember …": nothing of the sentence is to be kept.
UNWANTED = re.compile(
    rf"{POLITE}(?:{_NOT} (?:ever )?{_KEEP}(?:ing)?(?: (?:down|in (?:your )?memory))?"
    r"(?: (?:this|that|it|these|any of (?:this|that))(?: (?:down|for later|in (?:your )?memory))?(?=\s*(?:[:,–—-]|$))|"
    r" (?:that|the fact|what)\b|(?:(?<=remember)|(?<=memori[sz]e)|(?<=save)|(?<=store))(?= (?:my|our)\b)|"
    r"(?= (?:I|we|I['’]\w+)\b)|"
    r"\s*[:,–—-])|"
    r"(?:off the record|just between us)\b|"
    r"(?:merk|notier|speicher)\w*(?: dir)?(?: bitte)?(?: das)? (?:bitte )?nicht\b|behalte(?: bitte)?(?: das)? nicht\b|"
    r"ne (?:retiens|note|notez|enregistre|mémorise)(?:z)? pas\b|"
    r"no (?:recuerdes|guardes|apuntes|anotes|memorices)\b|"
    r"(?:不要|别|不用|不必)(?:帮我)?(?:记住|记下|记录|保存|存))",
    re.IGNORECASE,
)
# "…, but don't save that": nor of a sentence that ends so.
UNWANTED_AFTER = re.compile(
    rf"(?:\b(?:please |but |so |and |just )?{_NOT} {_KEEP}(?:ing)? (?:this|that|it)(?: (?:down|please))?|"
    r"\b(?:but )?off the record|(?:bitte )?merk dir das (?:bitte )?nicht|(?:请)?(?:不要|别|不用)(?:记住|记下来?|保存))"
    r"[\s.!。！]{0,9}$",
    re.IGNORECASE,
)
_FORGET = (
    r"(?:forget|stop remembering|"
    r"(?:don['’]t|do not) (?:ever )?(?:remember|memori[sz]e)(?= (?:my|our)\b(?!.*(?:\b(?:is|are|was|were)\b|\?))))"
)
_ERASE = (
    r"(?:(?:delete|erase|remove|drop)(?: from (?:your )?memory| the (?:memory|note)|(?= the fact that\b)|"
    r"(?= (?:what|everything|all|anything) (?:I|you)\b)|"
    r"(?= (?:my|our|that|what|where|how) .{1,120} from (?:your |the )?memory\b)))"
)
_SAID = (
    r"what (?:I|you)(?:['’]ve| have)? (?:just )?(?:said|told you|mentioned|wrote|know|remember)(?: to you)?"
    r"(?: earlier| before)? (?:about|of)\b"
)
_FACT = (
    r"(?:the fact )?that(?= (?:I|I['’]\w+|we|we['’]\w+|my|our|the|an?|it|it['’]s|he|she|they|there|(?-i:[A-Z]\w*))\b)"
)
# "I want you to forget …": said to memory as well as the bare imperative; "I want to forget …" isn't.
_WISH = (
    r"(?:(?:I (?:really )?(?:want|need) you to|I(?:['’]d| would) (?:like|prefer) (?:it if you|you to)|"
    r"(?:you|memory) (?:should|must|have to|need to|ought to)|(?:please )?make sure (?:to|that you|you)|go ahead and) "
    r"(?:please |now )*|"
    r"(?:je (?:veux|voudrais|souhaite)|j['’]aimerais) que (?:tu|vous) (?=oubli|effac|supprim)|"
    r"(?:tu dois|tu devrais|vous devez|vous devriez) (?=oublier|effacer|supprimer)|"
    r"(?:me gustaría que|necesito que|debes|deberías|tienes que) (?=olvid|borr|elimin)|"
    r"我(?:真的)?(?:想|要|希望)(?:让|叫|请)?(?=[你您])|(?=[你您](?:应该|必须)))?"
)
_OWN = r"(?=(?:my|our|I|I['’]\w+|we|where I|where we|how old I|(?:what|who|when) (?:my|our))\b)"
_ASK_GERMAN = r"(?:(?:kannst|könntest|würdest|magst) du|(?:können|könnten|würden) Sie)"
_WISH_GERMAN = (
    r"(?:ich (?:möchte|will|wünsche mir|hätte gern),? dass (?:du|Sie)|du (?:sollst|solltest|musst)|"
    r"Sie (?:sollen|sollten))"
)
_GERMAN_FORGET = (
    rf"(?:vergiss|lösche?|vergessen Sie|löschen Sie|"
    rf"{_ASK_GERMAN} (?:bitte |wieder )*(?:vergessen|löschen)(?=,? (?:dass|wo|wie)\b))"
)
_FRENCH_FORGET = (
    r"(?:oublie|oubliez|efface|effacez|supprime|supprimez|(?:peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|"
    r"tu peux|vous pouvez|veuillez|merci d['’]|merci de)\s?(?:bien )?(?:oublier|effacer|supprimer)|"
    r"(?<=que tu )(?:oublies|effaces|supprimes)|(?<=que vous )(?:oubliiez|effaciez|supprimiez)|"
    r"(?:(?<=tu dois )|(?<=tu devrais )|(?<=vous devez )|(?<=vous devriez ))(?:oublier|effacer|supprimer))"
)
_SPANISH_FORGET = (
    r"(?:olvida|olvídate de|borra|elimina|(?:(?:me )?puedes?|podrías?|quiero que) (?:por favor )?(?:olvidar|borrar|"
    r"eliminar|olvidarte de|olvides|borres|elimines)|(?<=por favor )(?:olvide|borre|elimine)|"
    r"(?<=por favor, )(?:olvide|borre|elimine)|"
    r"(?<= que )(?:olvides|borres|elimines|olvidaras|borraras|eliminaras)|"
    r"(?:(?<=debes )|(?<=deberías )|(?<=tienes que ))(?:olvidar|borrar|eliminar))"
)
_CHINESE_FORGET = (
    r"(?:[你您](?:能不能|可不可以|能|可以|应该|必须)?|能不能|可不可以|能|可以)(?:请|帮我)?(?:忘记|忘掉|删除|删掉)"
)
# "Forget that …", "forget what I said about …", "forget my …": what follows is to be forgotten.
FORGET = re.compile(
    rf"{POLITE}{_WISH}(?:(?:{_FORGET}|{_ERASE})(?: about)? ?(?:{_SAID}|{_FACT}|{_OWN}|:)\s*|"
    rf"{_GERMAN_FORGET}(?: (?:bitte|wieder|auch))*,?\s+(?!nicht\b)(?:dass\s+|was ich (?:dir )?(?:über|von)\s+|"
    r"(?=mein|unser|ich|wo (?:ich|wir)|wie (?:alt )?ich))|"
    rf"{_FRENCH_FORGET}\s+(?:que\s+|(?=où j)|(?=quel âge j)|(?=comment je)|qu['’]|ce que j['’]ai dit (?:sur|de)\s+|"
    r"(?=mon|ma|mes|notre|nos))|"
    rf"{_SPANISH_FORGET}\s+(?:(?:de )?que\s+|lo que (?:dije|te dije) (?:sobre|de)\s+|(?:de )?(?=mi|mis|nuestr|"
    r"dónde(?! (?:vive|trabaja)\b)|cuántos años|cómo me))|"
    rf"{_CHINESE_FORGET}(?:我说过的|关于)?(?=我|\w)|(?:请)?(?:从[你您]的?记忆[里中]?)?(?:忘记|忘掉|忘了|删除|删掉)(?:我说过的|关于)?(?=我|\w))",
    re.IGNORECASE,
)
# "Kannst du meine Telefonnummer vergessen?", 把我的电话号码忘掉: the verb comes last.
FORGET_LAST = re.compile(
    rf"{POLITE}(?:{_ASK_GERMAN} |{_WISH_GERMAN} |(?<=bitte ))(?:bitte )?"
    r"(?P<what>(?:mein|unser)\w{0,2} (?:(?!nicht\b|nie\b)[\w-]+ ){1,6}?)"
    r"(?:bitte |wieder )*(?:vergessen|löschen|vergisst|löschst)(?: bitte)?\W*$|"
    r"(?:请|麻烦|帮我|[你您]|能不能|能|可以|可不可以)*把(?P<chinese>我[^，。,]{1,30}?)给?"
    r"(?:忘掉|忘了|忘记|删掉|删除|删了)[吧吗]?\W*$",
    re.IGNORECASE,
)
# "… from your memory": where it is to be forgotten, no part of what is.
FROM_MEMORY = re.compile(
    r"\s+(?:from|in) (?:your |the )?(?:long[- ]term )?memory\W*$|"
    r"\s+aus (?:deinem|Ihrem|dem) (?:Gedächtnis|Speicher)\W*$|"
    r"\s+de (?:ta|votre|la) mémoire\W*$|\s+de (?:tu|su|la) memoria\W*$",
    re.IGNORECASE,
)
ALL = re.compile(
    r"(?:everything|anything|all)(?= (?:about|of|I|you|what|that (?:I|you))\b)|alles,? (?:was|über|von)\b|"
    r"tout (?:ce que|sur)\b|todo (?:lo que|sobre)\b|(?:关于我的)?(?:一切|所有)",
    re.IGNORECASE,
)
# "Forget everything about …": more than one statement is meant.
FORGET_ALL = re.compile(
    rf"{POLITE}{_WISH}(?:{_FORGET}|{_ERASE}|vergiss|lösche|oublie|efface|olvida|borra|忘记|忘掉|删除)"
    r"(?: about)?(?: bitte)? ?"
    rf"(?P<what>(?:{ALL.pattern}).*)",
    re.IGNORECASE | re.DOTALL,
)
# "Forget my diet for now", "forget my diet, let's …": the talk moves on, and memory stays.
FORGET_IDIOM = re.compile(
    r"\bfor (?:now|the moment|the time being|today|once|an? (?:moment|second|minute|sec|bit|while|hour|day))\b|"
    r"[,;.–—-]\s*(?:and |but |so )?(?:let['’]?s|let us|let me|what about|how about|what|how|where|why|can|could|tell|"
    r"give|show|just|I['’]?(?:m|ll|d)?|we|it['’]?s|instead)\b|^(?:past|mal|einfach)\b|\binstead\b",
    re.IGNORECASE,
)
# "Erase my phone number.": what people keep to themselves is no file and no mail that else might be meant.
ERASE_OWN = re.compile(
    rf"{POLITE}{_WISH}(?:erase|delete|remove|wipe|clear) (?P<what>(?:my|our) (?:[\w'’-]+ ){{0,2}}?(?:"
    r"(?:phone|telephone|mobile|cell|cellphone|landline|card|account|passport|insurance|security|tax|id|licen[cs]e) "
    r"number|(?:(?:e-?mail|mail|home|postal|mailing|street) )?address|birth(?:day|date)|date of birth|"
    r"pin(?: (?:code|number))?|pass ?(?:word|phrase|code)|\w+ code|salary|income|diagnosis|medication|iban|ssn))"
    r"(?:,? (?:please|now|again|too|as well))*[\s.!]*$",
    re.IGNORECASE,
)
_VALUE = r"(?P<value>\+?\d(?:[ ()./-]{0,3}\d){6,}|[^\s@]+@[^\s@]+\.\w+)"
# "Forget 555 0199.", "forget the code 4711": the value alone.
FORGET_VALUE = re.compile(
    rf"{POLITE}{_WISH}(?:{_FORGET}|{_ERASE}|vergiss|lösche|oublie|efface|supprime|olvida|borra|elimina|"
    r"(?:请)?(?:忘记|忘掉|忘了|删除|删掉))(?: bitte)?\s*(?:"
    r"(?:(?:the|my|die|den|das|meine?n?|le|la|l['’]|el|mi|mon|ma) ?)?(?:(?:[\w-]+ )?(?:number|e-?mail|address|nummer|"
    r"telefonnummer|adresse|e-?mail-?adresse|numéro|adresse e-?mail|número|correo|dirección)|(?:电话)?号码|邮箱)?\s*"
    rf"{_VALUE}|(?:the|my|die|den|das|meine?n?|le|mon|el|mi) (?:[\w-]+ )?(?:code|pin|passcode|pincode|código|"
    r"geheimzahl) (?P<code>\d(?:[\d .-]{0,10}\d)?))(?:,? (?:please|bitte|s['’]il te plaît|por favor))?[\s.!。！]*$",
    re.IGNORECASE,
)
_ALL_OF_IT = r"(?:absolutely )?everything|alles|tout|todo|一切|所有(?:事情|东西|内容)?"
_JUST_SAID = (
    r"that I (?:just )?said that|(?:what|everything|all(?: that)?) I(?:['’]ve| have)? (?:just )?(?:said|told you|wrote|"
    r"written|mentioned)(?: to you)?(?: just now| earlier| before| today)?|"
    r"was ich (?:dir )?(?:gerade |eben |vorhin )*(?:gesagt|erzählt|geschrieben) habe|"
    r"ce que je viens de (?:te )?dire|ce que (?:j['’]ai|je t['’]ai) dit|"
    r"lo que (?:acabo de decir(?:te)?|(?:te )?(?:dije|he dicho))|我?(?:刚才|刚刚)?(?:说|讲)的(?:话|内容)?"
)
EVERYTHING = re.compile(_ALL_OF_IT, re.IGNORECASE)
JUST_SAID = re.compile(_JUST_SAID, re.IGNORECASE)
VALUE = re.compile(r"\+?\d[\d ()./-]*\d|\S+@\S+")
# "Forget everything.", "forget what I just said": more than rules forget, also where it isn't said of what.
FORGET_TOO_MUCH = re.compile(
    rf"{POLITE}{_WISH}(?:{_FORGET}|(?:delete|erase)(?= (?:what|everything|all) )|vergiss|vergessen Sie|lösche(?= was)|"
    r"oublie|oubliez|efface(?= ce)|olvida|borra(?= lo)|(?:请)?(?:忘记|忘掉|忘了))"
    rf"(?: bitte)?,? ?(?P<what>{_ALL_OF_IT}|{_JUST_SAID})"
    r"(?:,? (?:please|now|bitte|s['’]il te plaît|por favor))*[\s.!。！]*$",
    re.IGNORECASE,
)
