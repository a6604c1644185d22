"""Names and repairs applied to what GeoNames, countryinfo and CLDR give, each with its reason."""

from __future__ import annotations

# Not in the graph: states that are no more, places without inhabitants or a town, and Western Sahara, whose
# status is disputed.
LEFT_OUT = "AN CS AQ BV HM UM TF GS IO EH SJ BQ TK PN"

COUNTRY_NAMES: dict[str, str] = {
    "AX": "Åland Islands",
    "BL": "Saint Barthélemy",
    "CC": "Cocos (Keeling) Islands",
    "CV": "Cape Verde",
    "CW": "Curaçao",
    "FM": "Federated States of Micronesia",
    "MF": "Saint Martin (French part)",
    "NL": "Netherlands",
    "PS": "Palestine",
    "RE": "Réunion",
    "ST": "São Tomé and Príncipe",
    "TL": "Timor-Leste",
    "VA": "Vatican City",
}

# Capitals GeoNames' country table gives under an old name, or moved after 2024.
CAPITALS: dict[str, str] = {
    "KZ": "Astana",  # was Nur-Sultan from 2019 to 2022
    "GQ": "Malabo",  # Ciudad de la Paz was under construction
    "PW": "Ngerulmud",
    "MN": "Ulan Bator",  # GeoNames' own spelling of the city, renamed below
    "MO": "",  # Hong Kong, Macao, Gibraltar and Vatican City are city and territory in one
    "HK": "",
    "GI": "",
    "VA": "",
    "MS": "",  # Plymouth is buried under ash, Brades serves in its place
    "IL": "",  # Jerusalem's status is disputed, so it is left out altogether
    "PS": "",
}

# GeoNames' spelling (after transliteration marks are removed) -> the usual English name.
CITY_NAMES: dict[tuple[str, str], str] = {
    ("US", "Washington"): "Washington, D.C.",
    ("MN", "Ulan Bator"): "Ulaanbaatar",
    ("MM", "Nay Pyi Taw"): "Naypyidaw",
    ("KI", "Tarawa"): "South Tarawa",
    ("BE", "Gent"): "Ghent",
    ("DE", "Köln"): "Cologne",
    ("DE", "Frankfurt am Main"): "Frankfurt",
    ("DK", "Århus"): "Aarhus",
    ("BY", "Homyel'"): "Gomel",
    ("BY", "Hrodna"): "Grodno",
    ("GR", "Patra"): "Patras",
    ("IQ", "Al Mawsil al Jadidah"): "Mosul",
    ("IQ", "Al Basrah al Qadimah"): "Basra",
    ("MX", "León de los Aldama"): "León",
    ("MX", "Santiago de Querétaro"): "Querétaro",
    ("RU", "Nizhniy Novgorod"): "Nizhny Novgorod",
    ("SA", "Makkah"): "Mecca",
    ("SA", "Madinah"): "Medina",
    ("SO", "Hargeysa"): "Hargeisa",
    ("SY", "Hamah"): "Hama",
    ("SY", "Ar Raqqah"): "Raqqa",
    ("YE", "Al Hudaydah"): "Hodeidah",
    ("UA", "Zaporizhzhya"): "Zaporizhzhia",
    ("ET", "Gonder"): "Gondar",
    ("ET", "Mek'ele"): "Mekelle",
    ("ET", "Nazret"): "Adama",
    ("MV", "Male"): "Malé",
    ("CH", "Luzern"): "Lucerne",
    ("UZ", "Andijon"): "Andijan",
    ("MD", "Bălţi"): "Bălți",
    ("RO", "Iaşi"): "Iași",
    ("RO", "Constanţa"): "Constanța",
    ("MA", "Fes"): "Fez",
    ("AE", "Al Ain City"): "Al Ain",
    ("BG", "Veliko Turnovo"): "Veliko Tarnovo",
    ("CA", "Montréal"): "Montreal",
    ("ES", "Sevilla"): "Seville",
    ("GR", "Irakleion"): "Heraklion",
    ("IQ", "Basrah"): "Basra",
    ("JP", "Nara-shi"): "Nara",
    ("KH", "Paoy Paet"): "Poipet",
    ("LY", "Misratah"): "Misrata",
    ("MD", "Rîbniţa"): "Rîbnița",
    ("ME", "Niksic"): "Nikšić",
    ("RS", "Nis"): "Niš",
    ("MR", "Nema"): "Néma",
    ("TD", "Abeche"): "Abéché",
    ("TH", "Phra Nakhon Si Ayutthaya"): "Ayutthaya",
    ("TZ", "Zanzibar"): "Zanzibar City",
    ("VU", "Port-Vila"): "Port Vila",
    ("PH", "Bacolod City"): "Bacolod",
    ("EG", "Al Mansurah"): "Mansoura",
    ("EG", "Al Mahallah al Kubra"): "El Mahalla El Kubra",
    ("KP", "Namp'o"): "Nampo",
    ("KP", "Sunch'on"): "Sunchon",
}

# Places of GeoNames that are districts, that carry the population of a whole province or district, that lie
# in another country, or whose country is disputed.
CITIES_LEFT_OUT = frozenset(
    {
        ("IL", "Jerusalem"),
        ("IL", "West Jerusalem"),
        ("PS", "East Jerusalem"),
        ("PH", "Budta"),
        ("KH", "Takeo"),
        ("ER", "Himora"),
        ("AO", "Calumbo"),
        ("KE", "Kakamega"),
        ("SS", "Winejok"),
        ("ET", "Warder"),
        ("TH", "Sai Mai"),
        ("UA", "Sevastopol"),
        ("UA", "Simferopol"),
        ("UA", "Donetsk"),
        ("GE", "Sokhumi"),
        ("HK", "Hong Kong"),  # city and territory in one, with the districts below
        ("HK", "San Tung Chung Hang"),
        ("HK", "Tin Shui Wai"),
        ("MO", "Macau"),
        ("QA", "Az Za'ayin"),
        ("TH", "Lat Krabang"),
        ("TH", "Si Racha"),
        ("KG", "Manas"),
        ("AZ", "Yevlakh"),
        ("TJ", "Isfara"),
        ("TJ", "Istaravshan"),
        ("TJ", "Konibodom"),
        ("PK", "Bannu"),
        ("VI", "Saint Croix"),
        ("IN", "Delhi"),  # New Delhi stands for it
    }
)

# Countries whose largest city is contested, or not the one with GeoNames' largest count.
NOT_LARGEST = "GM IL KW PS SD"

# Sub-regions of countryinfo that differ from the United Nations' table, or that it lacks.
REGIONS: dict[str, str] = {
    "ME": "Southern Europe",
    "RS": "Southern Europe",
    "XK": "Southern Europe",
    "TW": "Eastern Asia",
    "GG": "Northern Europe",
    "JE": "Northern Europe",
    "CY": "Western Asia",
}

# GeoNames reports these, but they are no land borders of today: a leased naval base, and a border that is
# Kosovo's here.
NO_BORDER = frozenset({frozenset({"US", "CU"}), frozenset({"AL", "RS"})})

# Reported by countryinfo from both sides; GeoNames lacks them.
ALSO_BORDERS: tuple[tuple[str, str], ...] = (("CN", "HK"), ("CN", "MO"), ("BW", "ZM"))

# Currencies at the end of 2024: CLDR already lists the guilder that replaced Curaçao's and Sint Maarten's in
# March 2025, and the dollar in Haiti, which circulates there without being legal tender.
CURRENCIES: dict[str, tuple[str, ...]] = {"CW": ("ANG",), "SX": ("ANG",), "HT": ("HTG",)}

# CLDR names that are misspelt, abbreviated or written with `&`.
CURRENCY_NAMES: dict[str, str] = {
    "ANG": "Netherlands Antillean guilder",
    "KGS": "Kyrgyzstani som",
    "STN": "São Tomé and Príncipe dobra",
    "TTD": "Trinidad and Tobago dollar",
    "SHP": "Saint Helena pound",
    "GYD": "Guyanese dollar",
    "AFN": "Afghan afghani",
}

# Zones that CLDR's table of metazones files under an older name.
METAZONES: dict[str, str] = {
    "America/Argentina/Buenos_Aires": "Argentina",
    "America/Argentina/Cordoba": "Argentina",
    "America/Argentina/Mendoza": "Argentina",
    "America/Argentina/Tucuman": "Argentina",
    "America/Indiana/Indianapolis": "America_Eastern",
    "America/Kentucky/Louisville": "America_Eastern",
    "Africa/Asmara": "Africa_Eastern",
    "Asia/Ho_Chi_Minh": "Indochina",
    "Asia/Kolkata": "India",
    "Asia/Kathmandu": "Nepal",
    "Asia/Yangon": "Myanmar",
    "Atlantic/Faroe": "Europe_Western",
    "Europe/Kyiv": "Europe_Eastern",
}
