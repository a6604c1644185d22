"""Languages: names, repairs of CLDR's list of official languages, families.

CLDR counts regional, lapsed and de facto statuses as official; the repairs below follow the constitutions
and language laws in force at the end of 2024.
"""

from __future__ import annotations

# Codes whose CLDR name is also a country's, is less usual in English, or that stand for one language here.
NAMES: dict[str, str] = {
    "bn": "Bengali",
    "rn": "Kirundi",
    "dv": "Dhivehi",
    "st": "Sesotho",
    "ss": "Swazi",
    "kl": "Greenlandic",
    "na": "Nauruan",
    "tvl": "Tuvaluan",
    "tkl": "Tokelauan",
    "zdj": "Comorian",
    "wni": "Comorian",
    "nb": "Norwegian",
    "nn": "Norwegian",
    "no": "Norwegian",
    "tzm": "Tamazight",
    "cnr": "Montenegrin",
    "mi": "Māori",
    "rar": "Cook Islands Māori",
    "crs": "Seychellois Creole",
}

# ISO code -> languages CLDR calls official that are not, each with its reason beside it.
NOT_OFFICIAL: dict[str, str] = {
    "TN": "fr",  # Arabic alone (constitution of 2022)
    "DZ": "fr",  # Arabic and Tamazight
    "MA": "fr",  # Arabic and Tamazight
    "UA": "ru",  # Ukrainian alone (language law of 2019)
    "CH": "gsw",  # a spoken form of German
    "LI": "gsw",
    "TW": "nan hak",  # national languages, not the language of administration
    "MO": "yue",  # the law says Chinese
    "SN": "wo",  # French alone
    "ML": "fr",  # a working language since the constitution of 2023
    "BF": "fr",  # a working language since the constitution was revised in January 2024
    "IL": "ar",  # special status since the basic law of 2018
    "NG": "yo",  # English alone at the federal level
    "MG": "en",  # dropped in 2010
    "EC": "qu",  # Spanish is official, Kichwa for intercultural relations
    "BW": "tn",  # national, not official
    "MW": "ny",  # national, not official
    "ME": "sr",  # Montenegrin is official, Serbian in official use
}

ALSO_OFFICIAL: dict[str, str] = {
    "DZ": "tzm",
    "ML": "bm",
    "ME": "cnr",
    "IQ": "ku",
    "MK": "sq",
    "BO": "gn",
    "PE": "ay",
    "RW": "sw",
    "SC": "crs",
    "ZA": "zu xh af nso tn st ts ss ve nr",
    "ET": "om ti so",
    "CK": "rar",
    "MP": "ch",
    "CW": "en",
    "FO": "da",
}

SCRIPTS: dict[str, str] = {
    "Latn": "Latin script",
    "Cyrl": "Cyrillic script",
    "Arab": "Arabic script",
    "Deva": "Devanagari script",
    "Ethi": "Ethiopic script",
    "Hans": "Chinese characters",
    "Hant": "Chinese characters",
    "Jpan": "Chinese characters",
    "Grek": "Greek script",
}

# Second scripts in official or everyday use, and codes CLDR gives no script for.
ALSO_WRITTEN_IN: dict[str, str] = {
    "Serbian": "Latn",
    "Bosnian": "Cyrl",
    "Uzbek": "Cyrl",
    "Montenegrin": "Latn Cyrl",
    "Malay": "Arab",
    "Kurdish": "Arab",
    "Comorian": "Latn",
}

FAMILIES: dict[str, str] = {
    "Germanic languages": (
        "English, German, Dutch, Swedish, Danish, Norwegian, Icelandic, Faroese, Luxembourgish, Afrikaans"
    ),
    "Romance languages": "French, Spanish, Portuguese, Italian, Romanian, Catalan",
    "Slavic languages": (
        "Russian, Ukrainian, Belarusian, Polish, Czech, Slovak, Slovenian, Croatian, Bosnian, Serbian, "
        "Montenegrin, Macedonian, Bulgarian"
    ),
    "Baltic languages": "Lithuanian, Latvian",
    "Celtic languages": "Irish, Manx",
    "Indo-Aryan languages": "Hindi, Bengali, Urdu, Nepali, Sinhala, Dhivehi, Fiji Hindi",
    "Iranian languages": "Persian, Pashto, Tajik, Kurdish",
    "Turkic languages": "Turkish, Azerbaijani, Kazakh, Kyrgyz, Uzbek, Turkmen",
    "Uralic languages": "Finnish, Estonian, Hungarian",
    "Semitic languages": "Arabic, Hebrew, Maltese, Amharic, Tigrinya",
    "Cushitic languages": "Somali, Oromo",
    "Sino-Tibetan languages": "Chinese, Burmese, Dzongkha",
    "Austroasiatic languages": "Vietnamese, Khmer",
    "Kra-Dai languages": "Thai, Lao",
    "Bantu languages": (
        "Swahili, Kinyarwanda, Kirundi, Shona, North Ndebele, South Ndebele, Zulu, Xhosa, Sesotho, Swazi, "
        "Tswana, Tsonga, Venda, Northern Sotho, Comorian"
    ),
    "Austronesian languages": (
        "Malay, Indonesian, Filipino, Malagasy, Tetum, Samoan, Tongan, Fijian, Māori, Cook Islands Māori, "
        "Tahitian, Niuean, Tuvaluan, Gilbertese, Marshallese, Palauan, Chamorro, Nauruan, Hiri Motu"
    ),
    "Creole languages": "Haitian Creole, Papiamento, Seychellois Creole, Bislama, Tok Pisin, Sango",
}
