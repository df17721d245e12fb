"""Employers that are known by name, or by what they are called.

Who says "I started at Duolingo" has begun a course, and at Weight Watchers a diet; "Ich arbeite jetzt bei Nacht" names
no firm. Where the phrase itself doesn't tell of work, only a name that is surely an employer's is one.
"""

from __future__ import annotations

import re

_FIRMS = """
accenture adidas adobe airbnb airbus aldi alibaba alphabet amazon amd apple asos astrazeneca audi aviva barclays basf
bayer bbc bcg bechtel blackrock bmw boeing bosch bp bt capgemini caterpillar chevron cisco citigroup cognizant
commerzbank continental costco daimler dell deloitte dhl dropbox ebay edeka equinor ericsson exxonmobil facebook fedex
ferrari fiat ford fujitsu glaxosmithkline google gsk heineken hitachi honda honeywell hsbc huawei hyundai ibm iberdrola
ikea inditex infosys intel jpmorgan kia kpmg lego lenovo lidl lloyds lockheed lufthansa maersk marriott mastercard
mcdonalds mckinsey mercedes merck meta michelin microsoft mitsubishi nasa nasdaq nestlé netflix nhs nike nintendo nissan
nokia novartis novo nvidia openai oracle panasonic paypal pepsico peugeot pfizer philips porsche primark prosus pwc
qualcomm renault repsol roche safran sainsbury sainsburys salesforce samsung santander sanofi sap schneider seat shell
siemens sony spacex starbucks stellantis stripe target tcs telefónica telekom tesco tesla thales thyssenkrupp total
toyota uber ubs unicef unilever ups verizon vodafone volkswagen volvo vw walmart wipro zalando zara
"""
_FIRM_NAMES = frozenset(_FIRMS.split())
_INSTITUTION = re.compile(
    r"\b(?:hospital|clinic|bank|council|surgery|bakery|brewery|gmbh|ag|se|kg|ltd|inc|corp|llc|plc|sa|company|"
    r"corporation|partners|consulting|solutions|technologies|industries|pharma\w*|airlines|airways|logistics|"
    r"krankenhaus|klinik\w*|klinikum|sparkasse|volksbank|hôpital|banque|mairie)$",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?:公司|集团|银行|医院|大学|学院|学校|中学|小学|工厂|科技|酒店|餐厅|法院|政府|研究所|事务所|出版社|电视台)$|"
    r"^(?:华为|腾讯|阿里|阿里巴巴|百度|字节跳动|字节|谷歌|苹果|微软|京东|美团|小米|网易|滴滴|拼多多|比亚迪|联想|三星|亚马逊|特斯拉|"
    r"英特尔|索尼|丰田|西门子|宝马|中兴|快手|携程|新浪|搜狐|蚂蚁|大疆|宁德时代|富士康|海尔|格力|中国移动|中国电信|中国联通)$"
)


def is_employer(value: str) -> bool:
    """Whether a name is surely an employer's: a known firm, or one that is called a hospital, a bank, a company.

    >>> is_employer("Bosch"), is_employer("York District Hospital"), is_employer("Duolingo"), is_employer("Nacht")
    (True, True, False, False)
    """
    name = value.casefold().replace("’", "'")
    known = name.removesuffix("'s") in _FIRM_NAMES or name.replace("'", "") in _FIRM_NAMES
    return known or bool(_INSTITUTION.search(value) or _CHINESE.search(value))
