"""Regions, seas, rivers, traffic, territories, independence and former capitals, typed in as of 2024.

Countries are ISO 3166-1 alpha-2 codes. The region of each country comes from `countryinfo`; what is typed
here is what no source on the package index gives.
"""

from __future__ import annotations

# The levels above the United Nations' sub-regions, and the seas: triples of `part_of`.
PART_OF: dict[str, str] = {
    "Northern Africa": "Africa",
    "Sub-Saharan Africa": "Africa",
    "Eastern Africa": "Sub-Saharan Africa",
    "Middle Africa": "Sub-Saharan Africa",
    "Southern Africa": "Sub-Saharan Africa",
    "Western Africa": "Sub-Saharan Africa",
    "Northern America": "Americas",
    "Latin America and the Caribbean": "Americas",
    "Caribbean": "Latin America and the Caribbean",
    "Central America": "Latin America and the Caribbean",
    "South America": "Latin America and the Caribbean",
    "Central Asia": "Asia",
    "Eastern Asia": "Asia",
    "South-eastern Asia": "Asia",
    "Southern Asia": "Asia",
    "Western Asia": "Asia",
    "Eastern Europe": "Europe",
    "Northern Europe": "Europe",
    "Southern Europe": "Europe",
    "Western Europe": "Europe",
    "Australia and New Zealand": "Oceania",
    "Melanesia": "Oceania",
    "Micronesia": "Oceania",
    "Polynesia": "Oceania",
    "Mediterranean Sea": "Atlantic Ocean",
    "Adriatic Sea": "Mediterranean Sea",
    "Baltic Sea": "Atlantic Ocean",
    "North Sea": "Atlantic Ocean",
    "Caribbean Sea": "Atlantic Ocean",
    "Gulf of Mexico": "Atlantic Ocean",
    "Gulf of Guinea": "Atlantic Ocean",
    "Red Sea": "Indian Ocean",
    "Persian Gulf": "Indian Ocean",
    "Arabian Sea": "Indian Ocean",
    "Bay of Bengal": "Indian Ocean",
    "South China Sea": "Pacific Ocean",
    "East China Sea": "Pacific Ocean",
    "Yellow Sea": "Pacific Ocean",
    "Sea of Japan": "Pacific Ocean",
    "Coral Sea": "Pacific Ocean",
    "Tasman Sea": "Pacific Ocean",
}

COASTS: dict[str, str] = {
    "Mediterranean Sea": "ES FR MC IT SI HR BA ME AL GR TR CY SY LB IL EG LY TN DZ MA MT PS GI",
    "Adriatic Sea": "IT SI HR BA ME AL",
    "Black Sea": "BG RO UA RU GE TR",
    "Caspian Sea": "RU AZ IR TM KZ",
    "Baltic Sea": "DE DK SE FI EE LV LT PL RU AX",
    "North Sea": "GB NO DK DE NL BE FR",
    "Red Sea": "EG SD ER SA YE",
    "Persian Gulf": "IR IQ KW SA BH QA AE OM",
    "Arabian Sea": "IN PK OM YE",
    "Bay of Bengal": "IN BD MM LK",
    "South China Sea": "CN TW VN MY BN PH",
    "East China Sea": "CN JP TW",
    "Yellow Sea": "CN KP KR",
    "Sea of Japan": "JP KR KP RU",
    "Coral Sea": "AU PG SB VU NC",
    "Tasman Sea": "AU NZ",
    "Gulf of Mexico": "US MX CU",
    "Gulf of Guinea": "CI GH TG BJ NG CM GQ GA ST",
    "Caribbean Sea": (
        "CU JM HT DO PR KN AG DM LC VC GD VE CO PA CR NI HN GT BZ MX TT GP MQ AW CW VG VI KY MS AI SX MF BL"
    ),
    "Atlantic Ocean": (
        "PT ES FR IE GB IS MA MR SN GM GW GN SL LR CI GH AO NA ZA BR UY AR US CA CV BS BM GY SR GF BB CG CD GA TC FK SH"
    ),
    "Pacific Ocean": (
        "US CA MX GT SV HN NI CR PA CO EC PE CL JP RU PH AU NZ PG SB VU FJ TO WS NC PF GU MP AS KI TV NR PW "
        "FM MH CK NU WF"
    ),
    "Indian Ocean": "ZA MZ TZ KE SO MG MU SC KM MV LK IN ID AU RE YT CX CC",
    "Arctic Ocean": "RU CA US NO GL",
}

RIVERS: dict[str, str] = {
    "Danube": "DE AT SK HU HR RS RO BG MD UA",
    "Rhine": "CH LI AT DE FR NL",
    "Mekong": "CN MM LA TH KH VN",
    "Nile": "UG SS SD EG",
    "Niger River": "GN ML NE BJ NG",
    "Zambezi": "ZM AO NA ZW MZ",
    "Amazon River": "PE CO BR",
    "Paraná": "BR PY AR",
    "Oder": "CZ PL DE",
    "Tigris": "TR SY IQ",
    "Euphrates": "TR SY IQ",
    "Brahmaputra": "CN IN BD",
    "Indus": "CN IN PK",
}

LEFT_HAND_TRAFFIC = (
    "AG AU BS BD BB BT BW BN CY DM TL SZ FJ GD GY IN ID IE JM JP KE KI LS MW MY MV MT MU MZ NA NR NP NZ PK "
    "PG KN LC VC WS SC SG SB ZA LK SR TZ TH TO TT TV UG GB ZM ZW AI BM VG KY FK MS SH TC GG JE IM CK NU NF "
    "CX CC HK MO VI"
)

# Dependent territories, overseas regions, autonomous parts and special administrative regions.
TERRITORIES: dict[str, str] = {
    "GB": "AI BM VG KY FK GI MS SH TC GG JE IM",
    "FR": "GP MQ GF RE YT BL MF PM WF PF NC",
    "NL": "AW CW SX",
    "US": "PR VI GU MP AS",
    "DK": "GL FO",
    "AU": "NF CX CC",
    "FI": "AX",
    "CN": "HK MO",
}

# Keys of two capital letters are ISO codes; the others are states that are no more.
INDEPENDENCE: dict[str, str] = {
    "GB": (
        "AG BS BH BB BZ BW BN CY DM EG FJ GM GH GD GY IN IE IQ JM JO KE KI KW LS MW MY MV MT MU MM NG PK QA "
        "KN LC VC SC SL SB LK SD SZ TZ TO TT TV UG AE US ZM ZW"
    ),
    "FR": "DZ BJ BF KH CM CF TD KM CG CI DJ GA GN HT LA LB MG ML MR MA NE SN SY TG TN VN",
    "ES": "AR BO CL CO CR EC SV GQ GT HN MX NI PY PE VE",
    "PT": "AO BR CV GW MZ ST",
    "NL": "BE ID SR",
    "BE": "CD RW BI",
    "US": "PH PW FM MH",
    "AU": "PG NR",
    "NZ": "WS",
    "ZA": "NA",
    "JP": "KP KR",
    "ET": "ER",
    "SD": "SS",
    "MY": "SG",
    "PK": "BD",
    "CO": "PA",
    "HT": "DO",
    "BR": "UY",
    "DK": "IS",
    "SE": "NO",
    "RU": "FI",
    "CN": "MN",
    "Soviet Union": "AM AZ BY EE GE KZ KG LV LT MD TJ TM UA UZ",
    "Yugoslavia": "BA HR MK SI",
    "Ottoman Empire": "AL BG GR RO RS",
}

FORMER_CAPITALS: dict[str, tuple[str, ...]] = {
    "RU": ("Saint Petersburg",),
    "BR": ("Rio de Janeiro", "Salvador"),
    "MM": ("Yangon", "Mandalay"),
    "NG": ("Lagos",),
    "PK": ("Karachi",),
    "KZ": ("Almaty",),
    "TZ": ("Dar es Salaam",),
    "CI": ("Abidjan",),
    "JP": ("Kyoto", "Nara"),
    "TR": ("Istanbul",),
    "DE": ("Bonn",),
    "IN": ("Kolkata",),
    "IT": ("Turin", "Florence"),
    "PL": ("Kraków",),
    "AU": ("Melbourne",),
    "BI": ("Bujumbura",),
    "US": ("Philadelphia", "New York City"),
    "CN": ("Nanjing", "Xi'an", "Luoyang", "Kaifeng"),
    "MW": ("Zomba",),
    "LA": ("Luang Prabang",),
    "VN": ("Huế",),
    "BZ": ("Belize City",),
    "PH": ("Quezon City",),
    "NO": ("Bergen",),
    "FI": ("Turku",),
    "IR": ("Isfahan", "Tabriz", "Shiraz", "Qazvin"),
    "ES": ("Toledo", "Valladolid"),
    "LT": ("Kaunas",),
    "PT": ("Coimbra",),
    "UG": ("Entebbe",),
    "KE": ("Mombasa",),
    "AF": ("Kandahar",),
    "SN": ("Saint-Louis",),
    "MA": ("Fes", "Marrakesh", "Meknes"),
    "GH": ("Cape Coast",),
    "BG": ("Veliko Tarnovo",),
    "CR": ("Cartago",),
    "TH": ("Ayutthaya",),
    "UA": ("Kharkiv",),
    "EG": ("Alexandria",),
    "ID": ("Yogyakarta",),
    "ET": ("Gondar",),
    "ZM": ("Livingstone",),
}
