"""What a message asks of an earlier conversation: its topic, without the words that only speak of having spoken."""

from __future__ import annotations

from collections.abc import Iterable

from langmem_plus.recall.cues import without_phrases
from langmem_plus.small_talk import normalise, phrases_of, unspaced

# Longer phrases stand before their parts: they are taken out one after another.
_TALK = phrases_of(
    """
    pick up where we left off, where we left off, was left open, is left open, still open, left open,
    our conversation, the conversation, conversation, conversations, our discussion, discussion, our chat, chat,
    session, we had,
    talking about, talk about, talked about, spoke about, spoke of, spoken about, speak about, talked, talking, talk,
    spoke, discussed, discuss, discussing, mentioned, mention, mentioning, chatted, said about, said, say, told, tell,
    helped, help, helping, worked on, work on, working on, worked, recommended, suggested, explained, asked, remember,
    decided, deciding, decide, agreed on, agreed, agree, concluded, conclude, settled on, settle on, arranged,
    arrange, speak, speaking, saying, forgot, forgotten, recap, summarize, summarise,
    recall, continue, earlier, previously, before, something about, something, anything, again,
    besprochen, gesprochen, geredet, sprachen, redeten, erzählt, gesagt, sagte, sagtest, erwähnt, geholfen, empfohlen,
    unterhalten, ging es um, es ging um, offen geblieben, noch offen, wegen, gespräch, unterhaltung, erinnerst,
    diskussion, diskutiert, entschieden, beschlossen, ausgemacht, vereinbart, abgemacht, geeinigt, verabredet,
    abgesprochen, besprachen, erinnern, weisst du, weiss nicht mehr, vergessen,
    parlé, discuté, parlions, discutions, dit, disions, mentionné, expliqué, conseillé, recommandé, conversation,
    reste à faire, souviens, souvenez, rappelles, décidé, convenu, conclu, évoqué, débattu, mis d'accord, choisi,
    hablamos, hablábamos, hablado, discutimos, discutido, dijimos, dijiste, dijo, dije, mencionamos, mencionado,
    recomendaste, comentamos, conversación, quedó pendiente, pendiente, recuerdas,
    acuerdas, decidimos, decidido, acordamos, acordado, quedamos, conversamos, conversado, comentado, concluimos,
    charlamos, charla, discusión, dicho, trató, conclusión llegamos, acuerdo llegamos,
    我们聊过, 我们聊了, 聊过的, 聊过, 聊了, 聊到, 聊的, 谈过, 谈到, 说过, 说到, 讨论过, 讨论了, 讨论的, 提到, 对话,
    谈话, 说了, 聊天, 讨论, 商量, 决定了, 决定的, 决定, 约定, 商定, 记得, 告诉我
    """
)
# When it was said; alone it is no topic.
_WHEN = phrases_of(
    """
    yesterday, the other day, last week, last month, last year, last night, this week, this morning, recently,
    a while ago, days ago, weeks ago, months ago, today, lately, back then,
    gestern, vorgestern, neulich, kürzlich, letzte woche, letzten monat, letztens, vorhin, heute, damals, schon mal,
    schon, vor kurzem,
    hier, avant hier, la semaine dernière, le mois dernier, l'autre jour, récemment, aujourd'hui, tout à l'heure,
    ayer, anteayer, la semana pasada, el mes pasado, el otro día, recientemente, hoy, hace poco,
    昨天, 前天, 上周, 上星期, 上个月, 前几天, 最近, 今天, 刚才
    """
)
_FILLERS = phrases_of(
    """
    a, about, am, an, and, any, anything, are, at, be, been, but, by, can, could, did, do, does, for, from, had, has,
    have, hey, hi, how, i, in, is, it, its, let, like, me, my, of, off, ok, on, or, our, please, so, some, that, the,
    then, there, thing, things, this, time, to, topic, topics, us, was, we, were, what, when, where, which, who, why,
    last, ever, already, finally, t, don, much, how, still, with, would, you, your, exactly, all, everything, just,
    okay, well, up,
    am, bei, beim, bitte, da, das, dem, den, der, die, du, ein, eine, er, es, hab, habe, haben, hallo, hast, hatten,
    ich, im, in, ist, kannst, mal, mir, mit, noch, so, sie, über, um, und, uns, vom, von, war, waren, was, welche,
    haben, hatten, unser, unsere, unserem, unserer, an, ob, nicht, mehr, sich, daran, welcher, wie, wir, wo, worum,
    worüber, zu, zuletzt, alles, genau, dich, mich,
    a, à, ai, as, au, aux, avec, avez, avions, avons, ce, ces, cette, de, des, du, en, est, et, était, il, j, je, l,
    la, le, les, me, moi, mon, nos, notre, nous, on, où, par, peux, pouvez, pour, qu, quand, que, quel, quelle, qui,
    qu'est, qu'on, qu'avons, qu'avions,
    quoi, d, finalement, s, sur, t, te, tu, un, une, vous, y, déjà, tout, tes, ma,
    acerca, al, con, cuál, cuándo, cómo, de, del, dónde, el, en, era, es, esa, eso, fue, ha, habíamos, has, he, hemos,
    nuestra, nuestro, quedó, ya, no, antes, la, las, lo, los, me, mi, mis, nos, o, para, por, puedes, qué, que,
    quién, se, sobre, su, te, tu, un, una, y, yo,
    我, 我们, 你, 你们, 什么, 了, 过, 的, 是, 吗, 呢, 说, 聊, 谈, 讨论, 和, 都, 请, 哪, 哪些, 有, 在, 时候,
    次, 关于, 内容,
    话题, 还, 跟, 把, 一下
    """
)


def asked_topic(text: str, triggers: Iterable[str]) -> str:
    """What a message asks of an earlier conversation, in its own words; empty where it asks for the conversation alone.

    >>> asked_topic("What did we talk about last time?", ["last time"])
    ''
    >>> asked_topic("Last time we talked about my trip to Kyoto", ["last time"])
    'we my trip to Kyoto'
    """
    rest = without_phrases(without_phrases(text, triggers), _TALK).strip(" ,.:;!?？。，、–—-")
    return rest if _says_something(normalise(without_phrases(rest, _WHEN))) else ""


def _says_something(flat: str) -> bool:
    fillers = set(_FILLERS)
    for word in flat.split():
        if word in fillers:
            continue
        left = word
        if unspaced(word[-1]):
            for filler in sorted((each for each in fillers if unspaced(each[-1])), key=len, reverse=True):
                left = left.replace(filler, "")
        if left:
            return True
    return False
