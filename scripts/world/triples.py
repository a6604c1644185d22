"""Turns the sources and the typed tables into triples (head, relation, tail)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from world import geography, languages, organisations, repairs, sources
from world.sources import City, Country

Triple = tuple[str, str, str]

NEAR_KM = 150.0
LARGEST_BY = 1.5  # a largest city is stated only where it is this many times the second
INVERSES: dict[str, str] = {
    "capital_of": "has_capital",
    "city_in": "contains_city",
    "has_currency": "currency_of",
    "has_official_language": "official_language_of",
    "in_region": "includes_country",
    "member_of": "has_member",
    "territory_of": "has_territory",
    "has_seat_in": "seat_of",
}
SYMMETRIC = ("borders", "near")


class Triples:
    """All triples of the graph, gathered relation by relation."""

    def __init__(self) -> None:
        self.places = sources.read_places()
        self.countries = sources.read_countries(self.places)
        self._add_typed_cities()
        self.city_names = _name_cities(self.countries)
        self.triples: set[Triple] = set()

    def gather(self) -> set[Triple]:
        """Every triple, with inverses and mirror images, and no name that occurs only once."""
        for country in self.countries.values():
            self._state_country(country)
        self._state_borders()
        self._state_near()
        self._state_typed()
        self._state_organisations()
        self._state_languages()
        for head, relation, tail in list(self.triples):
            if relation in INVERSES:
                self.triples.add((tail, INVERSES[relation], head))
            elif relation in SYMMETRIC:
                self.triples.add((tail, relation, head))
        return prune(self.triples)

    def _add(self, head: str, relation: str, tail: str) -> None:
        self.triples.add((head, relation, tail))

    def _add_typed_cities(self) -> None:
        """Former capitals and seats of organisations that are not among the largest cities."""
        wanted = [(code, name) for code, names in geography.FORMER_CAPITALS.items() for name in names]
        wanted += [(code, name) for _, code, name in organisations.SEATS]
        for code, name in wanted:
            city = sources.find_city(self.places[code], repairs.CITY_NAMES.get((code, name), name))
            if city is None:
                raise SystemExit(f"{code}: {name!r} is not among GeoNames' places; mend the typed table")
            country = self.countries[code]
            if city not in country.cities:
                self.countries[code] = replace(country, cities=(*country.cities, city))

    def _name(self, code: str) -> str:
        """A country by its code, or a state that is no more by its name."""
        if code in self.countries:
            return self.countries[code].name
        if len(code) == len("FR"):
            raise SystemExit(f"{code!r} is no country of the graph; mend the typed table")
        return code

    def _city(self, code: str, name: str) -> str:
        city = sources.find_city(list(self.countries[code].cities), repairs.CITY_NAMES.get((code, name), name))
        assert city is not None, (code, name)
        return self.city_names[city]

    def _state_country(self, country: Country) -> None:
        self._add(country.name, "in_region", country.region)
        self._add(country.name, "on_continent", find_continent(country.region))
        side = "left" if country.code in geography.LEFT_HAND_TRAFFIC.split() else "right"
        self._add(country.name, "drives_on", f"{side} side of the road")
        for currency in country.currencies:
            self._add(country.name, "has_currency", sources.name_currency(currency))
        for tag in country.languages:
            self._add(country.name, "has_official_language", sources.name_language(tag))
        if country.capital:
            self._add(self.city_names[country.capital], "capital_of", country.name)
        for city in country.cities:
            self._add(self.city_names[city], "city_in", country.name)
            self._add(self.city_names[city], "city_in_region", country.region)
            if zone := sources.name_timezone(city.timezone):
                self._add(self.city_names[city], "in_timezone", zone)
        sizes = sorted(country.cities, key=lambda city: -city.population)
        contested = country.code in repairs.NOT_LARGEST.split()
        if not contested and len(sizes) > 1 and sizes[0].population > LARGEST_BY * sizes[1].population:
            self._add(self.city_names[sizes[0]], "largest_city_of", country.name)

    def _state_borders(self) -> None:
        for a, b in combinations(self.countries.values(), 2):
            agreed = b.code in a.neighbours and a.code in b.neighbours
            if (agreed or (a.code, b.code) in repairs.ALSO_BORDERS) and {
                a.code,
                b.code,
            } not in repairs.NO_BORDER:
                self._add(a.name, "borders", b.name)

    def _state_near(self) -> None:
        cities = [city for country in self.countries.values() for city in country.cities]
        for a, b in combinations(cities, 2):
            if a.measure_km(b) < NEAR_KM:
                self._add(self.city_names[a], "near", self.city_names[b])

    def _state_typed(self) -> None:
        for part, whole in geography.PART_OF.items():
            self._add(part, "part_of", whole)
        for sea, codes in geography.COASTS.items():
            for code in codes.split():
                self._add(self._name(code), "has_coast_on", sea)
        for river, codes in geography.RIVERS.items():
            for code in codes.split():
                self._add(river, "flows_through", self._name(code))
        for owner, codes in geography.TERRITORIES.items():
            for code in codes.split():
                self._add(self._name(code), "territory_of", self._name(owner))
        for ruler, codes in geography.INDEPENDENCE.items():
            for code in codes.split():
                self._add(self._name(code), "independent_from", self._name(ruler))
        for code, names in geography.FORMER_CAPITALS.items():
            for name in names:
                self._add(self._city(code, name), "former_capital_of", self._name(code))

    def _state_organisations(self) -> None:
        for organisation, codes in organisations.MEMBERS.items():
            for code in codes.split():
                self._add(self._name(code), "member_of", organisation)
        for organisation, codes in organisations.FOUNDERS.items():
            for code in codes.split():
                self._add(self._name(code), "founding_member_of", organisation)
        for organisation, code, city in organisations.SEATS:
            self._add(organisation, "has_seat_in", self._city(code, city))
        for agency in organisations.UNITED_NATIONS:
            self._add(agency, "part_of", "United Nations")
        for organisation, tags in organisations.WORKING_LANGUAGES.items():
            for tag in tags.split():
                self._add(organisation, "works_in_language", sources.name_language(tag))
        for organisation, regions in organisations.ACTIVE_IN.items():
            for region in regions:
                self._add(organisation, "active_in", region)

    def _state_languages(self) -> None:
        used = {tag for country in self.countries.values() for tag in country.languages}
        known = {sources.name_language(tag) for tag in used}
        for tag in used:
            if script := languages.SCRIPTS.get(sources.find_script(tag)):
                self._add(sources.name_language(tag), "written_in", script)
        for language, scripts in languages.ALSO_WRITTEN_IN.items():
            for script in scripts.split():
                self._add(language, "written_in", languages.SCRIPTS[script])
        for family, names in languages.FAMILIES.items():
            for name in names.split(", "):
                if name not in known:
                    raise SystemExit(f"{family}: {name!r} is no official language of any country")
                self._add(name, "in_language_family", family)


def find_continent(region: str) -> str:
    """The top of the hierarchy above a region."""
    while region in geography.PART_OF:
        region = geography.PART_OF[region]
    return region


def prune(triples: Iterable[Triple], least: int = 2) -> set[Triple]:
    """Drop triples about names that occur fewer than `least` times, until none is left."""
    kept = set(triples)
    while True:
        counts = Counter(name for head, _, tail in kept for name in (head, tail))
        rare = {name for name, count in counts.items() if count < least}
        if not rare:
            return kept
        kept = {triple for triple in kept if triple[0] not in rare and triple[2] not in rare}


def _name_cities(countries: dict[str, Country]) -> dict[City, str]:
    """A name of its own for each city: `X (city)` beside a country X, `X (country)` beside another city X."""
    taken = {country.name for country in countries.values()}
    cities = [city for country in countries.values() for city in country.cities]
    counts = Counter(city.name for city in cities)
    names: dict[City, str] = {}
    for city in cities:
        if counts[city.name] > 1:
            names[city] = f"{city.name} ({countries[city.code].name})"
        elif city.name in taken:
            names[city] = f"{city.name} (city)"
        else:
            names[city] = city.name
    return names
