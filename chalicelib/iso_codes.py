"""ISO codes: currencies (ISO 4217) and countries (ISO 3166-1).

Their packages are imported at first use. They take 26 and 5 ms, and only management requests need them.
"""

# ruff: noqa: PLC0415
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from chalicelib.domain.money import Currency

if TYPE_CHECKING:
    import iso3166

FUNDS = frozenset({"BOV", "CHE", "CHW", "CLF", "COU", "MXV", "USN", "UYI", "UYW"})  # ISO 4217: units of account


@cache
def _currencies() -> Mapping[str, Currency]:
    """Return the currencies by numeric and alpha code, without gold, test codes and units of account."""
    import iso4217

    listed = [
        Currency(entry.code, f"{entry.number:03}", entry.exponent)
        for entry in iso4217.Currency
        if entry.exponent is not None and entry.code not in FUNDS
    ]
    return {currency.code: currency for currency in listed} | {currency.number: currency for currency in listed}


def currency(code: str) -> Currency | None:
    """Return the currency of a code, numeric ("710") or alpha ("ZAR"), or None."""
    return _currencies().get(code)


def currency_code(code: str) -> str:
    """Return the alpha code of a known currency from either of its codes. Only a numeric code needs the package."""
    found = currency(code) if code.isdigit() else None
    return found.code if found else code


# The currency of each country of ISO 3166-1, from list one of ISO 4217, and of Kosovo. ISO 4217 has none for
# Antarctica, Palestine and South Georgia. Of two currencies it is the country's own.
OF_COUNTRIES = (
    "AD:EUR AE:AED AF:AFN AG:XCD AI:XCD AL:ALL AM:AMD AO:AOA AR:ARS AS:USD AT:EUR AU:AUD AW:AWG AX:EUR AZ:AZN",
    "BA:BAM BB:BBD BD:BDT BE:EUR BF:XOF BG:EUR BH:BHD BI:BIF BJ:XOF BL:EUR BM:BMD BN:BND BO:BOB BQ:USD BR:BRL",
    "BS:BSD BT:BTN BV:NOK BW:BWP BY:BYN BZ:BZD CA:CAD CC:AUD CD:CDF CF:XAF CG:XAF CH:CHF CI:XOF CK:NZD CL:CLP",
    "CM:XAF CN:CNY CO:COP CR:CRC CU:CUP CV:CVE CW:XCG CX:AUD CY:EUR CZ:CZK DE:EUR DJ:DJF DK:DKK DM:XCD DO:DOP",
    "DZ:DZD EC:USD EE:EUR EG:EGP EH:MAD ER:ERN ES:EUR ET:ETB FI:EUR FJ:FJD FK:FKP FM:USD FO:DKK FR:EUR GA:XAF",
    "GB:GBP GD:XCD GE:GEL GF:EUR GG:GBP GH:GHS GI:GIP GL:DKK GM:GMD GN:GNF GP:EUR GQ:XAF GR:EUR GT:GTQ GU:USD",
    "GW:XOF GY:GYD HK:HKD HM:AUD HN:HNL HR:EUR HT:HTG HU:HUF ID:IDR IE:EUR IL:ILS IM:GBP IN:INR IO:USD IQ:IQD",
    "IR:IRR IS:ISK IT:EUR JE:GBP JM:JMD JO:JOD JP:JPY KE:KES KG:KGS KH:KHR KI:AUD KM:KMF KN:XCD KP:KPW KR:KRW",
    "KW:KWD KY:KYD KZ:KZT LA:LAK LB:LBP LC:XCD LI:CHF LK:LKR LR:LRD LS:LSL LT:EUR LU:EUR LV:EUR LY:LYD MA:MAD",
    "MC:EUR MD:MDL ME:EUR MF:EUR MG:MGA MH:USD MK:MKD ML:XOF MM:MMK MN:MNT MO:MOP MP:USD MQ:EUR MR:MRU MS:XCD",
    "MT:EUR MU:MUR MV:MVR MW:MWK MX:MXN MY:MYR MZ:MZN NA:NAD NC:XPF NE:XOF NF:AUD NG:NGN NI:NIO NL:EUR NO:NOK",
    "NP:NPR NR:AUD NU:NZD NZ:NZD OM:OMR PA:PAB PE:PEN PF:XPF PG:PGK PH:PHP PK:PKR PL:PLN PM:EUR PN:NZD PR:USD",
    "PT:EUR PW:USD PY:PYG QA:QAR RE:EUR RO:RON RS:RSD RU:RUB RW:RWF SA:SAR SB:SBD SC:SCR SD:SDG SE:SEK SG:SGD",
    "SH:SHP SI:EUR SJ:NOK SK:EUR SL:SLE SM:EUR SN:XOF SO:SOS SR:SRD SS:SSP ST:STN SV:USD SX:XCG SY:SYP SZ:SZL",
    "TC:USD TD:XAF TF:EUR TG:XOF TH:THB TJ:TJS TK:NZD TL:USD TM:TMT TN:TND TO:TOP TR:TRY TT:TTD TV:AUD TW:TWD",
    "TZ:TZS UA:UAH UG:UGX UM:USD US:USD UY:UYU UZ:UZS VA:EUR VC:XCD VE:VES VG:USD VI:USD VN:VND VU:VUV WF:XPF",
    "WS:WST XK:EUR YE:YER YT:EUR ZA:ZAR ZM:ZMW ZW:ZWG",
)


@cache
def _currencies_by_country() -> Mapping[str, str]:
    return dict(pair.split(":") for pair in " ".join(OF_COUNTRIES).split())


def currency_of_country(country: str) -> str | None:
    """Return the alpha code of the currency of a country (alpha-2), or None if ISO 4217 lists none."""
    return _currencies_by_country().get(country)


def country_code(code: str) -> str | None:
    """Return the alpha-2 code of a country from any of its ISO 3166-1 codes ("ZA", "ZAF", "710"), or None."""
    country = _country(code)
    return str(country.alpha2) if country else None


def country_name(code: str) -> str | None:
    """Return the ISO 3166-1 name of a country from any of its codes, or None."""
    country = _country(code)
    return str(country.name) if country else None


def _country(code: str) -> "iso3166.Country | None":
    import iso3166

    for register in (iso3166.countries_by_alpha2, iso3166.countries_by_alpha3, iso3166.countries_by_numeric):
        if found := register.get(code.upper()):
            return found
    return None
