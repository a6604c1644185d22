"""Organisations: members, founders, seats, working languages and regions, typed in as of the end of 2024.

Countries are ISO 3166-1 alpha-2 codes. Left out on purpose, because the status was disputed or changing at
that date: the three Sahel states in ECOWAS, Moldova in the CIS, Armenia in the CSTO, Venezuela in Mercosur
and the OAS, Cuba and Nicaragua in the OAS, Eritrea in IGAD, Saudi Arabia in BRICS, Western Sahara in the
African Union.
"""

from __future__ import annotations

MEMBERS: dict[str, str] = {
    "European Union": "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE",
    "NATO": "AL BE BG CA HR CZ DK EE FI FR DE GR HU IS IT LV LT LU ME NL MK NO PL PT RO SK SI ES SE TR GB US",
    "ASEAN": "BN KH ID LA MY MM PH SG TH VN",
    "African Union": (
        "DZ AO BJ BW BF BI CM CV CF TD KM CD CG CI DJ EG GQ ER SZ ET GA GM GH GN GW KE LS LR LY MG MW ML MR "
        "MU MA MZ NA NE NG RW ST SN SC SL SO ZA SS SD TZ TG TN UG ZM ZW"
    ),
    "Commonwealth of Nations": (
        "AG AU BS BD BB BZ BW BN CM CA CY DM SZ FJ GA GM GH GD GY IN JM KE KI LS MW MY MV MT MU MZ NA NR NZ "
        "NG PK PG RW KN LC VC WS SC SL SG SB ZA LK TZ TG TO TT TV UG GB VU ZM"
    ),
    "OPEC": "DZ CG GQ GA IR IQ KW LY NG SA AE VE",
    "G7": "CA FR DE IT JP GB US",
    "G20": "AR AU BR CA CN FR DE IN ID IT JP KR MX RU SA ZA TR GB US",
    "Arab League": "DZ BH KM DJ EG IQ JO KW LB LY MR MA OM PS QA SA SO SD SY TN AE YE",
    "Mercosur": "AR BR PY UY BO",
    "Caribbean Community": "AG BS BB BZ DM GD GY HT JM MS KN LC VC SR TT",
    "ECOWAS": "BJ CV CI GM GH GN GW LR NG SN SL TG",
    "Southern African Development Community": "AO BW KM CD SZ LS MG MW MU MZ NA SC ZA TZ ZM ZW",
    "East African Community": "BI CD KE RW SO SS TZ UG",
    "OECD": (
        "AU AT BE CA CL CO CR CZ DK EE FI FR DE GR HU IS IE IL IT JP KR LV LT LU MX NL NZ NO PL PT SK SI ES "
        "SE CH TR GB US"
    ),
    "BRICS": "BR RU IN CN ZA EG ET IR AE",
    "Shanghai Cooperation Organisation": "CN IN IR KZ KG PK RU TJ UZ BY",
    "Gulf Cooperation Council": "BH KW OM QA SA AE",
    "South Asian Association for Regional Cooperation": "AF BD BT IN MV NP PK LK",
    "European Free Trade Association": "IS LI NO CH",
    "Council of Europe": (
        "AL AD AM AT AZ BE BA BG HR CY CZ DK EE FI FR GE DE GR HU IS IE IT LV LI LT LU MT MD MC ME NL MK NO "
        "PL PT RO SM RS SK SI ES SE CH TR UA GB"
    ),
    "Pacific Islands Forum": "AU CK FM FJ PF KI NR NC NZ NU PW PG MH WS SB TO TV VU",
    "Commonwealth of Independent States": "AM AZ BY KZ KG RU TJ UZ",
    "Collective Security Treaty Organization": "BY KZ KG RU TJ",
    "Eurasian Economic Union": "AM BY KZ KG RU",
    "Andean Community": "BO CO EC PE",
    "Organisation of Islamic Cooperation": (
        "AF AL DZ AZ BH BD BJ BN BF CM TD KM CI DJ EG GA GM GN GW GY ID IR IQ JO KZ KW KG LB LY MY MV ML MR "
        "MA MZ NE NG OM PK PS QA SA SN SL SO SD SR SY TJ TG TN TR TM UG AE UZ YE"
    ),
    "Community of Portuguese Language Countries": "AO BR CV GW GQ MZ PT ST TL",
    "Asia-Pacific Economic Cooperation": "AU BN CA CL CN HK ID JP KR MY MX NZ PG PE PH RU SG TW TH US VN",
    "Organization of American States": (
        "AG AR BS BB BZ BO BR CA CL CO CR DM DO EC SV GD GT GY HT HN JM MX PA PY PE KN LC VC SR TT US UY"
    ),
    "Organization of Turkic States": "AZ KZ KG TR UZ",
    "Central African Economic and Monetary Community": "CM CF TD CG GQ GA",
    "West African Economic and Monetary Union": "BJ BF CI GW ML NE SN TG",
    "Central American Integration System": "BZ CR DO SV GT HN NI PA",
    "Benelux Union": "BE NL LU",
    "Nordic Council": "DK FI IS NO SE",
    "Baltic Assembly": "EE LV LT",
    "Visegrád Group": "CZ HU PL SK",
    "Intergovernmental Authority on Development": "DJ ET KE SO SS SD UG",
    "D-8 Organization for Economic Cooperation": "BD EG ID IR MY NG PK TR",
    "BIMSTEC": "BD BT IN MM NP LK TH",
    "Arab Maghreb Union": "DZ LY MR MA TN",
    "Organisation of Eastern Caribbean States": "AG DM GD MS KN LC VC",
    "Economic Community of Central African States": "AO BI CM CF TD CD CG GQ GA RW ST",
    "COMESA": "BI KM CD DJ EG ER SZ ET KE LY MG MW MU RW SC SO SD TN UG ZM ZW",
    "Organization of the Black Sea Economic Cooperation": "AL AM AZ BG GE GR MD MK RO RU RS TR UA",
    "Economic Cooperation Organization": "AF AZ IR KZ KG PK TJ TR TM UZ",
    "Alliance of Sahel States": "BF ML NE",
}

FOUNDERS: dict[str, str] = {
    "European Union": "BE FR DE IT LU NL",
    "NATO": "BE CA DK FR IS IT LU NL NO PT GB US",
    "ASEAN": "ID MY PH SG TH",
    "OPEC": "IR IQ KW SA VE",
    "Arab League": "EG IQ JO LB SA SY YE",
    "Mercosur": "AR BR PY UY",
    "Nordic Council": "DK IS NO SE",
    "East African Community": "KE TZ UG",
    "BRICS": "BR RU IN CN",
    "Benelux Union": "BE NL LU",
}

# (organisation, ISO code of the country its seat is in, city)
SEATS: tuple[tuple[str, str, str], ...] = (
    ("European Union", "BE", "Brussels"),
    ("NATO", "BE", "Brussels"),
    ("Benelux Union", "BE", "Brussels"),
    ("ASEAN", "ID", "Jakarta"),
    ("African Union", "ET", "Addis Ababa"),
    ("Commonwealth of Nations", "GB", "London"),
    ("OPEC", "AT", "Vienna"),
    ("Arab League", "EG", "Cairo"),
    ("Mercosur", "UY", "Montevideo"),
    ("Caribbean Community", "GY", "Georgetown"),
    ("ECOWAS", "NG", "Abuja"),
    ("Southern African Development Community", "BW", "Gaborone"),
    ("East African Community", "TZ", "Arusha"),
    ("OECD", "FR", "Paris"),
    ("Shanghai Cooperation Organisation", "CN", "Beijing"),
    ("Gulf Cooperation Council", "SA", "Riyadh"),
    ("South Asian Association for Regional Cooperation", "NP", "Kathmandu"),
    ("European Free Trade Association", "CH", "Geneva"),
    ("Council of Europe", "FR", "Strasbourg"),
    ("Pacific Islands Forum", "FJ", "Suva"),
    ("Commonwealth of Independent States", "BY", "Minsk"),
    ("Collective Security Treaty Organization", "RU", "Moscow"),
    ("Eurasian Economic Union", "RU", "Moscow"),
    ("Andean Community", "PE", "Lima"),
    ("Organisation of Islamic Cooperation", "SA", "Jeddah"),
    ("Community of Portuguese Language Countries", "PT", "Lisbon"),
    ("Organization of American States", "US", "Washington, D.C."),
    ("Organization of Turkic States", "TR", "Istanbul"),
    ("Central African Economic and Monetary Community", "CF", "Bangui"),
    ("West African Economic and Monetary Union", "BF", "Ouagadougou"),
    ("Central American Integration System", "SV", "San Salvador"),
    ("Nordic Council", "DK", "Copenhagen"),
    ("Baltic Assembly", "LV", "Riga"),
    ("Intergovernmental Authority on Development", "DJ", "Djibouti"),
    ("D-8 Organization for Economic Cooperation", "TR", "Istanbul"),
    ("BIMSTEC", "BD", "Dhaka"),
    ("Arab Maghreb Union", "MA", "Rabat"),
    ("Organisation of Eastern Caribbean States", "LC", "Castries"),
    ("Economic Community of Central African States", "GA", "Libreville"),
    ("COMESA", "ZM", "Lusaka"),
    ("Organization of the Black Sea Economic Cooperation", "TR", "Istanbul"),
    ("Economic Cooperation Organization", "IR", "Tehran"),
    ("United Nations", "US", "New York City"),
    ("UNESCO", "FR", "Paris"),
    ("World Health Organization", "CH", "Geneva"),
    ("International Labour Organization", "CH", "Geneva"),
    ("World Trade Organization", "CH", "Geneva"),
    ("Food and Agriculture Organization", "IT", "Rome"),
    ("International Monetary Fund", "US", "Washington, D.C."),
    ("International Atomic Energy Agency", "AT", "Vienna"),
    ("OSCE", "AT", "Vienna"),
    ("International Maritime Organization", "GB", "London"),
    ("Universal Postal Union", "CH", "Bern"),
    ("UN Tourism", "ES", "Madrid"),
    ("UN Environment Programme", "KE", "Nairobi"),
    ("International Criminal Court", "NL", "The Hague"),
    ("Interpol", "FR", "Lyon"),
)

# Specialised agencies and programmes: triples of `part_of`.
UNITED_NATIONS = (
    "UNESCO",
    "World Health Organization",
    "International Labour Organization",
    "Food and Agriculture Organization",
    "International Monetary Fund",
    "International Maritime Organization",
    "Universal Postal Union",
    "UN Tourism",
    "UN Environment Programme",
)

# Languages an organisation works in, as CLDR codes; the European Union with its 24 is left out.
WORKING_LANGUAGES: dict[str, str] = {
    "United Nations": "ar zh en fr ru es",
    "NATO": "en fr",
    "OECD": "en fr",
    "Council of Europe": "en fr",
    "Commonwealth of Nations": "en",
    "OPEC": "en",
    "ASEAN": "en",
    "Arab League": "ar",
    "Gulf Cooperation Council": "ar",
    "Arab Maghreb Union": "ar",
    "Organisation of Islamic Cooperation": "ar en fr",
    "Mercosur": "es pt",
    "Organization of American States": "en es fr pt",
    "Central American Integration System": "es",
    "Community of Portuguese Language Countries": "pt",
    "Commonwealth of Independent States": "ru",
    "Collective Security Treaty Organization": "ru",
    "Eurasian Economic Union": "ru",
    "Shanghai Cooperation Organisation": "ru zh",
    "ECOWAS": "en fr pt",
    "Southern African Development Community": "en fr pt",
    "African Union": "ar en fr pt es sw",
    "European Free Trade Association": "en",
    "Interpol": "ar en fr es",
    "International Criminal Court": "en fr",
    "World Trade Organization": "en fr es",
}

# Regions and continents an organisation covers: triples of `active_in`.
ACTIVE_IN: dict[str, tuple[str, ...]] = {
    "European Union": ("Europe",),
    "NATO": ("Europe", "Northern America"),
    "ASEAN": ("South-eastern Asia",),
    "African Union": ("Africa",),
    "Arab League": ("Western Asia", "Northern Africa"),
    "Mercosur": ("South America",),
    "Caribbean Community": ("Caribbean",),
    "ECOWAS": ("Western Africa",),
    "Southern African Development Community": ("Southern Africa",),
    "East African Community": ("Eastern Africa",),
    "Gulf Cooperation Council": ("Western Asia",),
    "South Asian Association for Regional Cooperation": ("Southern Asia",),
    "European Free Trade Association": ("Europe",),
    "Council of Europe": ("Europe",),
    "Pacific Islands Forum": ("Melanesia", "Micronesia", "Polynesia"),
    "Commonwealth of Independent States": ("Central Asia", "Eastern Europe"),
    "Collective Security Treaty Organization": ("Central Asia", "Eastern Europe"),
    "Eurasian Economic Union": ("Central Asia", "Eastern Europe"),
    "Shanghai Cooperation Organisation": ("Central Asia", "Asia"),
    "Andean Community": ("South America",),
    "Organization of American States": ("Americas",),
    "Organization of Turkic States": ("Central Asia", "Western Asia"),
    "Central African Economic and Monetary Community": ("Middle Africa",),
    "West African Economic and Monetary Union": ("Western Africa",),
    "Central American Integration System": ("Central America",),
    "Benelux Union": ("Western Europe",),
    "Nordic Council": ("Northern Europe",),
    "Baltic Assembly": ("Northern Europe",),
    "Visegrád Group": ("Eastern Europe",),
    "Intergovernmental Authority on Development": ("Eastern Africa",),
    "BIMSTEC": ("Southern Asia", "South-eastern Asia"),
    "Arab Maghreb Union": ("Northern Africa",),
    "Organisation of Eastern Caribbean States": ("Caribbean",),
    "Economic Community of Central African States": ("Middle Africa",),
    "COMESA": ("Eastern Africa",),
    "Alliance of Sahel States": ("Western Africa",),
}
