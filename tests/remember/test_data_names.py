"""What people call their data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langmem_plus.records import MemoryRecord
from langmem_plus.remember.data_names import find_datum, tells_value
from langmem_plus.remember.forgetting import find_forgotten
from langmem_plus.remember.statements import forget_requests

TOLD = {
    "email": ("kim@wood.no", ["email", "e-mail", "email address", "e-mail address", "mail"]),
    "phone": ("555 1234 77", ["phone", "phone number", "telephone number", "number", "telephone"]),
    "address": ("12 Elm Street, Oslo", ["address", "home address", "postal address", "street address"]),
    "birthday": ("3 May 1980", ["birthday", "birthdate", "date of birth", "birth date"]),
}
WHICH = ["", "work ", "new ", "old ", "wife's ", "ex-husband's ", "LA ", "US ", "IT ", "DE ", "other ", "second "]


def meant(request: str, *texts: str) -> list[str]:
    """The texts of the records that a request to forget means."""
    known = [MemoryRecord(id=text, text=text, user_id="u") for text in texts]
    return [record.text for record in find_forgotten(request, known)[0]]


@given(
    st.sampled_from(sorted(TOLD)),
    st.sampled_from(sorted(TOLD)),
    st.sampled_from(WHICH),
    st.sampled_from(WHICH),
    st.data(),
)
def test_any_name_of_a_datum_means_it_and_no_other(told: str, asked: str, which: str, wanted: str, data: st.DataObject):
    """By whatever name each was called; what belongs to somebody else, or is another one, stays."""
    value, names = TOLD[told]
    text = f"My {which}{data.draw(st.sampled_from(names))} is {value}."
    if told == "phone" and which and "My " + which + "number" in text:
        return  # "my work number" may be any number
    name = data.draw(st.sampled_from([name for name in TOLD[asked][1] if name != "number" or not wanted]))
    found = meant(f"my {wanted}{name}", text, "I like jazz.")
    same = told == asked and (which == wanted or (which, wanted) == ("new ", ""))
    assert found == ([text] if same else [])


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ("Delete my email address from your memory.", "My email is kim@wood.no."),
        ("Can you please erase my e-mail from the memory?", "My email address is kim@wood.no."),
        ("Remove my phone number from your memory, please.", "My phone is 555 1234."),
        ("Don't remember my email address.", "My email is kim@wood.no."),
        ("Forget that my email address is kim@wood.no.", "My email is kim@wood.no."),
        ("Forget my phone number.", "My mobile number is 555 1234."),
        ("Forget my phone number.", "My landline is 555 1234."),
        ("Forget my landline number.", "My landline is 555 1234."),
        ("Forget my US email.", "My US email address is kim@wood.no."),
        ("Forget my other phone.", "My other phone number is 555 1234."),
        ("Forget my PIN.", "My pin is 4711."),
        ("Forget MY own e-mail.", "My email is kim@wood.no."),
        ("FORGET MY EMAIL.", "My email is kim@wood.no."),
        ("Forget my address.", "My home address is 12 Elm Street."),
        ("Lösche meine Mailadresse aus deinem Gedächtnis.", "Meine E-Mail-Adresse ist a@b.de."),
        ("Vergiss mein Geburtsdatum.", "Mein Geburtstag ist am 3. Mai 1980."),
        ("Efface mon adresse e-mail de ta mémoire.", "Mon email est a@b.fr."),
        ("Borra mi teléfono de tu memoria.", "Mi número de teléfono es 123 456."),
        ("忘记我的邮箱地址。", "我的邮箱是a@b.cn。"),
        ("请从你的记忆中删除我的邮箱。", "我的邮箱是a@b.cn。"),
    ],
)
def test_requests_reach_what_is_called_otherwise(request_: str, text: str) -> None:
    """And not a datum of another kind beside it."""
    (wanted,) = forget_requests(request_)
    beside = "My desk number is 1234." if "@" in text else "My email address is kim@work.no."
    assert meant(wanted, text, beside) == [text]


@pytest.mark.parametrize(
    ("request_", "texts"),
    [
        ("my address", ["My email address is kim@wood.no."]),
        ("my home address", ["My email is kim@wood.no.", "My IP address is 10.0.0.1."]),
        ("my phone number", ["My phone is 3 years old.", "My phone is broken.", "My card number is 4111 1111."]),
        ("my mobile number", ["My phone number is 555 1234."]),
        ("my number", ["My card number is 4111 1111."]),
        ("my email address", ["My email is kim@wood.no and I hate it.", "My email is full."]),
        ("my email address", ["My email is kim@wood.no.", "I prefer to be reached by email, kim@work.no."]),
        ("my email address", ["My work email is kim@work.no."]),
        ("my email address is kim@wood.no", ["My email is kim@work.no."]),
        ("my insurance number", ["My insurance phone number is 555 1234."]),
        ("my US phone number", ["My mobile is 0170 12345."]),
        ("my LA address", ["My home address is 12 Elm Street, Oslo.", "My LA office is at 5 Sunset Blvd."]),
        ("my email", ["My US email address is a@b.no."]),
        ("my IT password", ["My password is 1234."]),
        ("my other password", ["My password is 1234."]),
        ("my password", ["My other password is 1234."]),
        ("her email", ["My email is kim@wood.no."]),
        ("my phone number", ["My mobile is 555 12345.", "My landline is 555 99999."]),
        ("meine Telefonnummer", ["Meine Handynummer ist 0170 12345.", "Meine Festnetznummer ist 030 12345."]),
        ("mon numéro de téléphone", ["Mon portable est le 06 12 34 56 78.", "Mon fixe est le 01 12 34 56 78."]),
        ("mi número de teléfono", ["Mi móvil es 612 345 678.", "Mi fijo es 912 345 678."]),
        ("我的电话号码", ["我的手机号是13812345678。", "我的座机是01012345678。"]),
        ("my mobile", ["My landline is 555 99999."]),
    ],
)
def test_nothing_else_is_meant(request_: str, texts: list[str]) -> None:
    """Another kind of datum, no datum at all, another value, one of several, or what says more."""
    assert meant(request_, *texts) == []


@pytest.mark.parametrize(
    ("request_", "mine", "beside"),
    [
        ("my phone number", "My phone number is 555 1234 567.", "My wife's phone number is 555 7654 321."),
        ("my email address", "My email is ann@x.org.", "My sister's email is bea@x.org."),
        ("my birthday", "My birthday is on 3 May.", "My wife's birthday is on 4 June."),
        ("my birthday", "My birthday is on 3 May.", "I love my birthday cake."),
        ("my salary", "My salary is 5000 euros.", "My wife's salary is 6000 euros."),
        ("my IBAN", "My IBAN is DE8937040044.", "My wife's IBAN is DE1250010517."),
        ("my name", "My name is Paula.", "My wife's name is Anne."),
        ("my favourite colour", "My favourite colour is blue.", "My wife's favourite colour is red."),
        ("my PIN", "My PIN is 4711.", "My daughter's PIN is 4712."),
        ("my PIN", "My PIN is 4711.", "My phone PIN is 4712."),
        ("my email", "My email is ann@x.org.", "My email password is hunter42."),
        ("my email", "My email is ann@x.org.", "My work email is ann@work.org."),
        ("my email", "My email is ann@x.org.", "I changed my email twice last year."),
        ("my email", "My email is ann@x.org.", "My wife has the email bea@x.org."),
        ("my address", "My address is 9 Main Street, Boston.", "My IP address is 192.168.1.7."),
        ("my phone number", "My phone number is 555 1234 567.", "I lost my phone number list."),
        ("my phone number", "My phone number is 555 1234 567.", "My second phone number is 555 7654 321."),
        ("my home", "I live in Lyon.", "I work from home."),
        ("mein Passwort", "Mein Passwort ist Geheim99.", "Mein WLAN-Passwort ist Sonne99."),
        ("meine E-Mail", "Meine E-Mail ist ann@x.org.", "Meine Frau hat die E-Mail bea@x.org."),
        ("mi correo", "Mi correo es ana@x.org.", "El correo de mi hermana es bea@x.org."),
        ("mon numéro", "Mon numéro est le 06 12 34.", "Le numéro de ma femme est le 06 87 65."),
        ("我的电话号码", "我的电话是13812345678。", "我妻子的电话是13887654321。"),
        ("我的密码", "我的密码是abc1。", "我的邮箱密码是abc2。"),
    ],
)
def test_what_is_told_of_others_stands_in_no_ones_way(request_: str, mine: str, beside: str) -> None:
    """What somebody else has, another datum, or a sentence that holds the word: it stays, and what is named goes."""
    assert meant(request_, mine, beside) == [mine]
    assert meant(request_, beside, mine) == [mine]
    assert meant(request_, beside) == []


@pytest.mark.parametrize(
    ("request_", "texts"),
    [
        ("my phone number", ["My phone number is 555 1234 567.", "My mobile number is 555-1234-567."]),
        ("my phone number", ["My phone number is +1 555 1234 567.", "My cell is 555 1234 567."]),
        ("my birthday", ["My birthday is on 3 May.", "My date of birth is 3rd May, 1980."]),
        ("my email", ["My email is ann@x.org.", "My mail address is ann@x.org."]),
        ("my PIN", ["My PIN is 4711.", "My PIN is 4711, don't tell anybody.", "My pin code is 47 11."]),
        ("meine Telefonnummer", ["Meine Telefonnummer ist 0171 1234567.", "Meine Handynummer ist +49 171 1234567."]),
    ],
)
def test_the_same_value_goes_by_whatever_name_it_was_told(request_: str, texts: list[str]) -> None:
    """Numbers are the same by their digits, with the country's or without, days with the year or without."""
    assert sorted(meant(request_, *texts)) == sorted(texts)
    assert sorted(meant(request_, *reversed(texts))) == sorted(texts)


@pytest.mark.parametrize(
    ("request_", "texts"),
    [
        ("my PIN", ["My PIN is 4711.", "My PIN is 4712."]),
        ("my phone number", ["My phone number is 555 1234 567.", "My telephone number is 555 9999 999."]),
        ("my phone number", ["My phone number is 555 1234 567.", "My phone number is 555 9999 999 and I hate it."]),
        ("my birthday", ["My birthday is on 3 May.", "My date of birth is 4 May 1980."]),
    ],
)
def test_different_values_of_one_datum_are_ambiguous(request_: str, texts: list[str]) -> None:
    """None goes; one of a narrower kind doesn't count."""
    assert meant(request_, *texts) == []
    phone, mobile = "My phone number is 555 1234 567.", "My mobile number is 555 9999 999."
    assert meant("my phone number", phone, mobile) == [phone]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ("my address", "My address is hard to find."),
        ("my email", "My email is full of spam."),
        ("my birthday", "My birthday is always a sad day for me."),
        ("my birthday", "My birthday is 3 weeks away."),
        ("my phone number", "My phone number is not 555 1111 222."),
        ("my phone number", "My phone number is the same as my wife's 555 1111 222."),
        ("my number", "My number is 7 in the team."),
        ("my PIN", "My PIN is not 4711."),
        ("my PIN", "My PIN is the same as my wife's PIN."),
        ("my password", "My password is too short."),
        ("my illness", "My illness is getting better."),
        ("my weight", "My weight is going down."),
        ("meine Telefonnummer", "Meine Telefonnummer ist nicht 030 123456."),
        ("mein Passwort", "Mein Passwort ist zu kurz."),
        ("mon mot de passe", "Mon mot de passe est trop court."),
        ("mi contraseña", "Mi contraseña es demasiado corta."),
        ("我的密码", "我的密码是一样的。"),
    ],
)
def test_what_tells_no_value_is_not_meant(request_: str, text: str) -> None:
    """What a datum isn't, what is like it, and how it stands."""
    assert meant(request_, text) == []


def test_what_is_said_behind_a_value_is_no_part_of_it() -> None:
    """Behind a comma or in brackets, as far as it isn't an address."""
    for told in ("4711, never share it", "4711 (not 4712)", "47 11"):
        datum = find_datum(f"My PIN is {told}.")
        assert datum is not None, told
        assert datum.value.replace(" ", "") == "4711"
    street = find_datum("My address is 9 Main Street, Boston.")
    assert street is not None
    assert street.value == "9 Main Street, Boston"
    assert not tells_value("my PIN", "4 digits long")


def test_an_address_is_told_from_an_email_address() -> None:
    """Each goes alone, whichever is asked for."""
    email, home = "My email address is kim@wood.no.", "My address is 12 Elm Street."
    assert meant("my address", email, home) == [home]
    assert meant("my email", email, home) == [email]


@pytest.mark.parametrize(
    "turn",
    [
        "Don't remember my name? I'm Kim.",
        "Delete my last commit.",
        "Erase my old drawing.",
        "Delete my photos from the memory.",
        "Erase my songs from memory cards.",
    ],
)
def test_no_request_is_read_into_other_talk(turn: str) -> None:
    """A question, and what is to be deleted elsewhere."""
    assert forget_requests(turn) == []


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    """Whatever it holds."""
    found = find_datum(f"my {text}")
    assert found is None or found.kind
