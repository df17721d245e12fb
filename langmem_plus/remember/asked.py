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
_OWN = r"(?=(?:my|our|I|I['’]\w+|we|where I|where we|how old I|(?:what|who|when) (?:my|our))\b)"
_ASK_GERMAN = r"(?:(?:kannst|könntest|würdest|magst) du|(?:können|könnten|würden) Sie)"
_GERMAN_FORGET = (
    rf"(?:vergiss|lösche?|vergessen Sie|löschen Sie|"
    rf"{_ASK_GERMAN} (?:bitte |wieder )*(?:vergessen|löschen)(?=,? (?:dass|wo|wie)\b))"
)
_FRENCH_FORGET = (
    r"(?:oublie|oubliez|efface|effacez|supprime|supprimez|(?:peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|"
    r"tu peux|vous pouvez|veuillez|merci d['’]|merci de)\s?(?:bien )?(?:oublier|effacer|supprimer))"
)
_SPANISH_FORGET = (
    r"(?:olvida|olvídate de|borra|elimina|(?:(?:me )?puedes?|podrías?|quiero que) (?:por favor )?(?:olvidar|borrar|"
    r"eliminar|olvidarte de|olvides|borres|elimines)|(?<=por favor )(?:olvide|borre|elimine)|"
    r"(?<=por favor, )(?:olvide|borre|elimine))"
)
_CHINESE_FORGET = r"(?:[你您](?:能不能|可不可以|能|可以)?|能不能|可不可以|能|可以)(?:请|帮我)?(?:忘记|忘掉|删除|删掉)"
# "Forget that …", "forget what I said about …", "forget my …": what follows is to be forgotten.
FORGET = re.compile(
    rf"{POLITE}(?:(?:{_FORGET}|{_ERASE})(?: about)? ?(?:{_SAID}|{_FACT}|{_OWN}|:)\s*|"
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
    rf"{POLITE}(?:{_ASK_GERMAN} |(?<=bitte ))(?:bitte )?"
    r"(?P<what>(?:mein|unser)\w{0,2} (?:(?!nicht\b|nie\b)[\w-]+ ){1,6}?)"
    r"(?:bitte |wieder )*(?:vergessen|löschen)(?: bitte)?\W*$|"
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
    rf"{POLITE}(?:{_FORGET}|{_ERASE}|vergiss|lösche|oublie|efface|olvida|borra|忘记|删除)(?: about)?(?: bitte)? ?"
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
