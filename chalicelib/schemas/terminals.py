"""The requests to create, update and list terminals, and the view of a terminal."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, ValidationInfo

from chalicelib import iso_codes
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import WARNING, Check, ErrorCode, Finding, Validation
from chalicelib.schemas.agents import PageCounters, PosView
from chalicelib.schemas.base import (
    Answer,
    Identifier,
    Latitude,
    Longitude,
    LongText,
    Request,
    State,
    Text,
    View,
    checked,
    pattern,
    problem,
    views_of,
)
from chalicelib.schemas.field_types import (
    CountryCode,
    JsonObject,
    Phone,
    parse_stored_object,
    request_context_text,
    shared_fields,
)
from chalicelib.schemas.names import Name
from chalicelib.schemas.request_context import Context, DeviceInfo, ZoneHours

ENTRY_CAPS = {
    "0": "Unknown",
    "1": "No terminal used",
    "2": "Magnetic stripe reader",
    "3": "Bar code",
    "4": "OCR",
    "5": "Magnetic stripe and chip reader",
    "6": "Key entry",
    "7": "Magnetic stripe reader and key entry",
    "8": "Magnetic stripe and chip and key entry",
    "9": "Chip reader",
    "10": "None",
}
SOUTH_AFRICA = "710"
# ISO 3166-2:ZA, with the old and new forms of the two codes changed in 2021: GT is now GP, NL is KZN.
PROVINCES = frozenset({"EC", "FS", "GP", "GT", "KZN", "LP", "MP", "NC", "NL", "NW", "WC"})
# Also combining accents and typographic marks, but no characters that turn the direction or separate lines.
LATIN = (
    r"^[\x20-\x7E\u{A0}-\u{24F}\u{300}-\u{36F}\u{1E00}-\u{1EFF}\u{2000}-\u{200A}\u{2010}-\u{2027}\u{202F}-\u{205F}"
    r"\u{20A0}-\u{20CF}\u{2116}\u{2122}\u{FB00}-\u{FB06}]+$"
)
NUMERIC = r"^[0-9]{3}$"
REGION_FIELD = pattern(r"^[A-Za-z0-9]{1,3}$", "One to three letters or digits are expected.")
CAPABILITY = checked(ENTRY_CAPS.__contains__, Check.NOT_IN_DICTIONARY, "A capability code from 0 to 10 is expected.")
NUMERIC_EXPECTED = "A numeric code of three digits such as 710 is expected."


def _known(find: Callable[[str], object], standard: str) -> AfterValidator:
    expected = f"A numeric {standard} code such as 710 is expected."
    return checked(lambda number: find(number) is not None, Check.NOT_IN_DICTIONARY, expected)


def check_region(country: str | None, code: str | None) -> list[Finding]:
    """Return a finding about a RegionCode that is none of its country (numeric)."""
    if code is None or country != SOUTH_AFRICA or code.upper() in PROVINCES:
        return []
    message = f"A province is expected: {', '.join(sorted(PROVINCES))}."
    return [Finding("region_code", Check.NOT_IN_DICTIONARY, message)]


def _region(code: str, info: ValidationInfo) -> str:
    for finding in check_region(info.data.get("country"), code):
        raise problem(finding.code, finding.message)
    return code.upper()


PRINTABLE = pattern(r"^[\x20-\x7E]*$", "Printable ASCII characters are expected.")
Tid = Annotated[Name, PRINTABLE]
CategoryCode = Annotated[str, pattern(r"^[0-9]{4}$", "A merchant category code of four digits is expected.")]
Place = Annotated[str, Field(min_length=1, max_length=512), pattern(LATIN, "Latin characters are expected.")]
City = Annotated[str, Field(min_length=1, max_length=512)]
EntryCaps = Annotated[str, CAPABILITY]
RegionCode = Annotated[str, REGION_FIELD, AfterValidator(_region)]


class _Terminal(Request):
    """The fields of a terminal in a request. Location is the terminal's, CountryCode is the caller's."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"SelfSevice": "SelfService"}
    TRIMMED: ClassVar[frozenset[str]] = frozenset({"Name"})
    PATHS: ClassVar[Mapping[str, str]] = {"group.id": "TerminalGroupID", "group.code": "TerminalGroupCode"}
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.TID_TAKEN: "Name"}
    JUDGED: ClassVar[tuple[str, ...]] = ("terminal_group_id", "terminal_group_code", "name", "back_retailer_id")

    name: Tid | None = None
    alias: Name | None = None
    sic: CategoryCode | None = None
    title: Name | None = None
    country_code: Text | None = None
    city: City | None = None
    location: Place | None = None
    entry_caps: EntryCaps | None = None
    device_info: DeviceInfo | None = None
    terminal_group_id: Identifier | None = None
    terminal_group_code: Text | None = None
    phone: Phone | None = None
    state: State | None = None
    description: LongText | None = None
    terminal_class: Text | None = Field(None, alias="Class")
    back_retailer_id: Annotated[Text, PRINTABLE] | None = None  # the MID
    owner: Text | None = None
    region: Text | None = None
    branch: Text | None = None
    zip_code: Text | None = Field(None, alias="ZIP")
    time_offset: Text | None = None
    contactless_capable: Text | None = None
    self_service: Text | None = None
    type: Text | None = None
    latitude: Latitude | None = None
    longitude: Longitude | None = None
    with_accounts: bool | None = None
    for_account: bool | None = None
    sbp: JsonObject | None = None
    gmt: ZoneHours | None = None
    app_framework: Text | None = None
    ip: Text | None = None
    lang: Text | None = None
    current_account_id: Identifier | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the terminal's record that come from the request."""
        fields = shared_fields(self, Terminal, without={"currency", "country_code"})
        return fields if self.name is None else {**fields, "tid": self.name}


class CreateTerminal(_Terminal):
    """The body of terminal/create. Location and Country are the terminal's, CountryCode is the caller's."""

    JUDGED: ClassVar[tuple[str, ...]] = ("branch_id", *_Terminal.JUDGED)

    branch_id: Identifier
    name: Tid
    sic: CategoryCode
    title: Name
    currency: Annotated[str, pattern(NUMERIC, NUMERIC_EXPECTED), _known(iso_codes.currency, "ISO 4217")]
    country: Annotated[str, pattern(NUMERIC, NUMERIC_EXPECTED), _known(iso_codes.country_code, "ISO 3166-1")]
    country_code: CountryCode
    city: City
    location: Place
    entry_caps: EntryCaps
    region_code: RegionCode
    device_info: DeviceInfo

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the terminal's record that come from the request."""
        return {
            "alias": self.name,
            **super().record_fields(),
            "country_code": iso_codes.country_code(self.country),
            "currency": iso_codes.currency(self.currency),
            "request_context": request_context_text(self),
        }


class UpdateTerminal(_Terminal):
    """The body of merchant/{merchantId}/terminal/{terminalId}/update; an absent field changes nothing."""

    JUDGED: ClassVar[tuple[str, ...]] = (*_Terminal.JUDGED, "id", "region_code")

    id: Identifier | None = None
    region_code: RegionCode | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the changed fields of the terminal's record. WithAccounts is about the answer."""
        return {name: value for name, value in super().record_fields().items() if name != "with_accounts"}


class TerminalView(View):
    """The Terminal object. Its fields about settlement and keys have fixed values, as a terminal has neither."""

    id: int
    alias: str
    name: str
    title: str
    finst_id: int
    client_id: int
    branch_id: int
    branch_name: str
    branch: str | None
    sic: str
    location: str
    city: str
    zip_code: str | None = Field(alias="ZIP")
    region: str | None
    owner: str | None
    terminal_class: str | None = Field(alias="Class")
    type: str | None
    description: str | None
    phone: str | None
    time_offset: str | None
    back_retailer_id: str | None
    currency: str
    country: str
    region_code: str
    entry_caps: str
    latitude: Decimal | None
    longitude: Decimal | None
    contactless_capable: str | None
    self_service: str | None
    state: int
    group_id: int
    sbp: dict[str, Any] | None
    selected: bool = False
    pos_count: int = 0
    accounts: list[PosView] | None
    settle_status: int = 0
    settled: str | None = None
    settle_try: int = 0
    can_start_settlement: bool = False
    tmk: str | None = None
    tmkkcv: str | None = Field(None, alias="TMKKCV")
    vn_ocean_tid: str | None = Field(None, alias="VN_OCEAN_TID")
    vn_ocean_psw: str | None = Field(None, alias="VN_OCEAN_PSW")
    can_export: bool = False
    proccess_try: int = 0  # the specification's spelling
    process_status: int = 0
    process_create_success: bool = True
    direct_pos_count: int = 0
    is_carousel: bool = False

    @classmethod
    def of(cls, terminal: Terminal, agents: int = 0, accounts: list[PosView] | None = None) -> Self:
        """Return the view of a terminal with the number of its agents, and the agents that are shown."""
        return cls.carried(
            terminal,
            name=terminal.tid,
            finst_id=terminal.financial_institution_id,
            branch_id=terminal.client_id,
            currency=terminal.currency.number,
            accounts=accounts,
            pos_count=agents,
            direct_pos_count=agents,
            phone=terminal.phone,
            sbp=parse_stored_object(terminal.sbp),
        )


class ListTerminals(Context):
    """The body of merchant/{merchantId}/terminal/list; an absent field does not filter."""

    search: Text | None = None
    state: State | None = None
    page: Identifier | None = None
    with_accounts: bool | None = None


class TerminalListAnswer(Answer):
    """A page of a merchant's terminals, the newest first."""

    terminals: list[TerminalView]
    terminals_counters: PageCounters

    @classmethod
    def of(
        cls,
        page: Sequence[Terminal],
        total: int,
        agents: Mapping[int, int],
        accounts: Mapping[int, list[PosView]],
    ) -> Self:
        """Return the answer with one page of the matching terminals.

        `total` is the number of all matches. `agents` and `accounts` are by terminal: the number, and those shown.
        """
        views = views_of(lambda one: TerminalView.of(one, agents.get(one.id, 0), accounts.get(one.id)), page)
        return cls(terminals=views, terminals_counters=PageCounters.of(len(page), total))


class TerminalAnswer(Answer):
    """The answer to creating and updating a terminal."""

    terminal: TerminalView

    @classmethod
    def of(cls, view: TerminalView, loser: Merchant | None, headers: Mapping[str, str] | None = None) -> Self:
        """Return the answer, with a warning if another merchant (`loser`) lost its number at the bank."""
        answer = cls(terminal=view, headers={**(headers or {})})
        if loser:
            whose = f"The number was {loser.name}'s, merchant {loser.id}"
            message = f"{whose}: its terminals with this number take no card payments now."
            answer.validations = [
                Validation("BackRetailerID", ErrorCode.TID_TAKEN.code, message, WARNING).on_the_wire()
            ]
        return answer
