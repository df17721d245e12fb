"""Places that are known by name, and whether one of two may lie in the other.

Who says "I moved to York" may have moved to a town, a tool or a faith ("I moved to Catholicism"), and who lives in
England now may live in Leeds still. Only two known places that lie apart tell for sure that one was left for the other;
of all others both statements stand. So this is a list of places that are sure, not of all places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_plus.text import words

# A country's names, then its parts, then its towns; names of which several countries have one aren't here.
_TABLE = """
uk, united kingdom, great britain, britain, großbritannien, royaume uni, reino unido, 英国
: england, scotland, wales, northern ireland, cornwall, yorkshire, kent, devon, essex, schottland, écosse, escocia
: london, leeds, york, manchester, liverpool, bristol, sheffield, edinburgh, glasgow, cardiff, belfast, nottingham,
leicester, coventry, bradford, brighton, southampton, portsmouth, plymouth, exeter, bath, norwich, swansea, aberdeen,
dundee, inverness, sunderland, hull, derby, wolverhampton, oxford, bournemouth, swindon, ipswich, carlisle, londres,
伦敦
ireland, irland, irlande, irlanda, 爱尔兰 : munster, connacht : dublin, galway, limerick, cork
us, usa, u s, u s a, america, united states, united states of america, the states, the us, the usa,
the united states, vereinigte staaten, états unis, estados unidos, 美国
: california, texas, florida, colorado, oregon, arizona, utah, nevada, montana, ohio, illinois, michigan, minnesota,
wisconsin, alaska, hawaii, virginia, maryland, massachusetts, vermont, connecticut, new jersey, new mexico,
tennessee, kentucky, north carolina, south carolina, alabama, louisiana, kansas, nebraska, idaho, wyoming,
pennsylvania, 加州
: new york city, nyc, los angeles, chicago, houston, philadelphia, san diego, san francisco, san antonio, dallas,
austin, seattle, denver, boston, detroit, miami, atlanta, minneapolis, new orleans, las vegas, baltimore, milwaukee,
nashville, pittsburgh, cincinnati, cleveland, sacramento, oakland, salt lake city, honolulu, tampa, orlando,
charlotte, fort worth, new york, tucson, albuquerque, omaha, indianapolis, 纽约, 洛杉矶, 旧金山, 西雅图
canada, kanada, canadá, 加拿大 : ontario, alberta, british columbia, nova scotia, manitoba
: toronto, montreal, montréal, vancouver, calgary, ottawa, edmonton, winnipeg, quebec city, 多伦多, 温哥华
germany, deutschland, allemagne, alemania, 德国
: bavaria, bayern, saxony, sachsen, hesse, hessen, baden württemberg, nordrhein westfalen, nrw, brandenburg,
thüringen
: berlin, hamburg, munich, münchen, cologne, köln, bonn, stuttgart, düsseldorf, dortmund, leipzig, dresden, hannover,
hanover, bremen, nuremberg, nürnberg, frankfurt am main, mannheim, karlsruhe, augsburg, wiesbaden, münster, aachen,
kiel, rostock, erfurt, mainz, kassel, lübeck, freiburg, heidelberg, potsdam, göttingen, regensburg, würzburg,
bielefeld, bochum, wuppertal, duisburg, magdeburg, braunschweig, chemnitz, jena, ulm, oldenburg, osnabrück,
saarbrücken, konstanz, tübingen, bamberg, passau, weimar, 柏林, 慕尼黑
austria, österreich, autriche, 奥地利 : tirol, tyrol, steiermark, styria, kärnten
: vienna, wien, salzburg, graz, linz, innsbruck, klagenfurt, bregenz, 维也纳
switzerland, schweiz, suisse, suiza, 瑞士 : ticino, graubünden
: zurich, zürich, geneva, genf, genève, basel, bern, lausanne, winterthur, lucerne, luzern, st gallen, lugano,
苏黎世, 日内瓦
france, frankreich, francia, 法国
: provence, brittany, bretagne, normandy, normandie, burgundy, alsace, corsica, corse
: paris, lyon, marseille, toulouse, nice, nantes, strasbourg, montpellier, bordeaux, lille, rennes, reims, grenoble,
dijon, angers, nîmes, le havre, avignon, rouen, brest, limoges, annecy, straßburg, parís, 巴黎, 里昂
spain, spanien, espagne, españa, 西班牙 : catalonia, cataluña, andalusia, andalucía, galicia, mallorca, majorca
: madrid, barcelona, sevilla, seville, bilbao, málaga, malaga, zaragoza, granada, alicante, murcia, salamanca,
san sebastián, cádiz, pamplona, gijón, oviedo, valladolid, 马德里, 巴塞罗那
portugal, 葡萄牙 : algarve, madeira : lisbon, lisboa, lissabon, porto, braga, coimbra, faro
italy, italien, italie, italia, 意大利 : tuscany, toskana, sicily, sizilien, sardinia, lombardy, umbria
: rome, rom, roma, milan, mailand, milano, turin, torino, naples, neapel, napoli, florence, florenz, firenze, venice,
venedig, bologna, genoa, palermo, verona, trieste, pisa, padua, 罗马, 米兰
netherlands, the netherlands, holland, niederlande, pays bas, países bajos, 荷兰 : friesland, zeeland
: amsterdam, rotterdam, the hague, den haag, utrecht, eindhoven, groningen, leiden, delft, maastricht, haarlem,
阿姆斯特丹
belgium, belgien, belgique, bélgica, 比利时 : flanders, wallonia
: brussels, brüssel, bruxelles, antwerp, antwerpen, ghent, gent, bruges, leuven, liège
denmark, dänemark, danemark, dinamarca, 丹麦 : jutland : copenhagen, kopenhagen, aarhus, odense, 哥本哈根
sweden, schweden, suède, suecia, 瑞典 : skåne : stockholm, gothenburg, malmö, uppsala, lund, 斯德哥尔摩
norway, norwegen, norvège, noruega, 挪威 : nordland : oslo, bergen, trondheim, stavanger, tromsø, 奥斯陆
finland, finnland, finlande, finlandia, 芬兰 : lapland : helsinki, tampere, turku, espoo, 赫尔辛基
iceland, island, islande, islandia, 冰岛 : : reykjavik, reykjavík, akureyri
poland, polen, pologne, polonia, 波兰 : silesia
: warsaw, warschau, krakow, kraków, gdansk, gdańsk, wroclaw, poznan, 华沙
czech republic, the czech republic, czechia, tschechien, 捷克 : moravia, bohemia
: prague, prag, praga, brno, ostrava, 布拉格
hungary, ungarn, hongrie, hungría, 匈牙利 : : budapest, debrecen, 布达佩斯
greece, griechenland, grèce, grecia, 希腊 : crete : athens, athen, athènes, atenas, thessaloniki, 雅典
turkey, türkei, turquie, turquía, 土耳其 : anatolia : istanbul, ankara, izmir, antalya, 伊斯坦布尔
russia, russland, russie, rusia, 俄罗斯 : siberia : moscow, moskau, moscou, moscú, novosibirsk, 莫斯科
ukraine, ucrania, 乌克兰 : : kyiv, kiev, lviv, odesa, kharkiv
romania, rumänien : transylvania : bucharest, bukarest, cluj, timisoara
croatia, kroatien : dalmatia : zagreb, zadar, dubrovnik
estonia, estland : : tallinn, tartu
latvia, lettland : : riga
lithuania, litauen : : vilnius, kaunas
serbia, serbien : : belgrade, belgrad, novi sad
bulgaria, bulgarien : : plovdiv, varna
slovenia, slowenien : : ljubljana, maribor
slovakia, slowakei : : bratislava, košice
israel, 以色列 : galilee : tel aviv, jerusalem, haifa
uae, the uae, united arab emirates, 阿联酋 : : dubai, abu dhabi, 迪拜
egypt, ägypten, égypte, egipto, 埃及 : sinai : cairo, kairo, luxor, 开罗
morocco, marokko, maroc, marruecos : : casablanca, marrakesh, marrakech, rabat, fez
kenya, kenia : : nairobi, mombasa
nigeria : : lagos, abuja, ibadan
ghana : : accra, kumasi
south africa, südafrika, sudáfrica, 南非 : gauteng, western cape
: cape town, johannesburg, durban, pretoria, kapstadt
india, indien, inde, 印度 : kerala, goa, punjab, tamil nadu, karnataka
: mumbai, delhi, new delhi, bangalore, bengaluru, chennai, kolkata, pune, jaipur, ahmedabad, kochi, 孟买
pakistan, 巴基斯坦 : sindh : karachi, lahore, islamabad, peshawar
china, chine, 中国
: guangdong, sichuan, yunnan, tibet, hunan, fujian, zhejiang, 广东, 四川, 云南, 浙江, 江苏, 湖南, 湖北, 福建, 山东,
河南, 河北
: beijing, peking, pékin, pekín, shanghai, shenzhen, guangzhou, chengdu, hangzhou, nanjing, wuhan, xiamen, chongqing,
tianjin, suzhou, qingdao, dalian, kunming, 北京, 上海, 深圳, 广州, 成都, 杭州, 南京, 武汉, 厦门, 重庆, 天津, 苏州,
青岛, 大连, 昆明, 西安, 长沙, 郑州, 沈阳, 哈尔滨, 福州, 济南, 合肥, 宁波, 无锡, 东莞, 佛山, 珠海, 石家庄, 南昌, 贵阳,
南宁, 兰州, 乌鲁木齐, 拉萨, 海口, 三亚
taiwan, 台湾 : : taipei, kaohsiung, 台北, 高雄
japan, japon, japón, 日本 : hokkaido, okinawa, kyushu
: tokyo, tokio, osaka, kyoto, yokohama, nagoya, sapporo, fukuoka, kobe, 东京, 大阪, 京都
south korea, korea, südkorea, 韩国 : jeju : seoul, busan, incheon, daegu, séoul, seúl, 首尔, 釜山
thailand, thaïlande, tailandia, 泰国 : isan : bangkok, chiang mai, phuket, 曼谷
vietnam, 越南 : : hanoi, ho chi minh city, saigon, da nang, 河内
philippines, the philippines, philippinen, filipinas, 菲律宾 : luzon, mindanao : manila, cebu, davao, 马尼拉
indonesia, indonesien, 印度尼西亚 : bali, java, sumatra : jakarta, bandung, surabaya, 雅加达
malaysia, 马来西亚 : sabah, sarawak, penang : kuala lumpur, 吉隆坡
australia, australien, australie, 澳大利亚 : queensland, new south wales, tasmania, western australia
: sydney, melbourne, brisbane, adelaide, canberra, hobart, darwin, sídney, 悉尼, 墨尔本
new zealand, neuseeland, nouvelle zélande, nueva zelanda, 新西兰 :
: auckland, wellington, christchurch, dunedin, 奥克兰
mexico, mexiko, mexique, méxico, 墨西哥 : oaxaca, yucatán : mexico city, monterrey, puebla, cancún, tijuana
brazil, brasilien, brésil, brasil, 巴西 : bahia : são paulo, sao paulo, rio de janeiro, brasília, recife, fortaleza
argentina, argentinien, 阿根廷 : patagonia : buenos aires, rosario, mendoza
chile, 智利 : : valparaíso
colombia, kolumbien, 哥伦比亚 : antioquia : bogotá, bogota, medellín, medellin, cali
peru, perú, 秘鲁 : : lima, cusco, arequipa
uruguay : : montevideo
ecuador : : quito, guayaquil
cuba, kuba : : havana, la habana
"""
_CHINESE_KIND = re.compile(r"(?<=\S\S) \S[市省]$")  # of 上海市, of which the words are 上海 and 海市


@dataclass(frozen=True)
class _Place:
    kind: str
    country: str


def _read(table: str) -> dict[str, _Place]:
    """The places of the table by their names, spelled as slots spell values."""
    found: dict[str, _Place] = {}
    lines = re.sub(r",\n|\n(?=:)", lambda end: ", " if end[0][0] == "," else " ", table).strip().splitlines()
    for line in lines:
        kinds = [[" ".join(words(name)) for name in part.split(",") if name.strip()] for part in line.split(":")]
        for kind, names in zip(("country", "part", "town"), kinds, strict=True):
            found |= {name: _Place(kind, kinds[0][0]) for name in names}
    return found


_PLACES = _read(_TABLE)


def find_kind(value: str) -> str:
    """What a place is known as: ``country``, ``part`` of one, ``town``; empty where it isn't known.

    Args:
        value: a slot's value, as `slots` spells it: words, casefolded.
    """
    place = _find(value)
    return place.kind if place else ""


def lie_apart(new: str, old: str, *, moved: bool) -> bool:
    """Whether who lives in the new place has surely left the old one: both are known, neither can hold the other.
    Where a move is told, the place that was left needn't be known: nobody moves to the town that they live in.

    >>> lie_apart("york", "leeds", moved=False), lie_apart("england", "leeds", moved=True)
    (True, False)
    >>> lie_apart("the netherlands", "leeds", moved=True), lie_apart("york", "little snoring", moved=True)
    (True, True)
    """
    here, there = _find(new), _find(old)
    if here is None:
        return False
    if there is None:
        return moved and here.kind == "town"
    return here.country != there.country or (here.kind == there.kind != "country")


def may_hold(new: str, old: str) -> bool:
    """Whether one of two places is known to be larger, so that the other may lie in it."""
    here, there = _find(new), _find(old)
    kinds = {place.kind if place else "town" for place in (here, there)}
    return len(kinds) > 1 and not (here and there and here.country != there.country)


def _find(value: str) -> _Place | None:
    return _PLACES.get(value) or _PLACES.get(_CHINESE_KIND.sub("", value))
