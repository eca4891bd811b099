"""The settings of the mobile application and the printer, in requests and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self

from pydantic import Field, create_model

from chalicelib.domain.agent import MobileSettings, PrinterSettings
from chalicelib.domain.kinds import FEATURES, Features
from chalicelib.schemas.base import Identifier, Request, Rule, RuledRequest, Text, View, contradiction

# Each reset field, and the setting that it resets to the inherited value.
RESETS: Mapping[str, str] = {
    "mob_home_url_null": "mob_home_url",
    "mob_qr_url_null": "mob_qr_url",
    "service_pay_dashboard_null": "service_pay_dashboard",
    "barcode_scanner_null": "barcode_scanner",
}


_ASKED: Mapping[str, Any] = dict.fromkeys(FEATURES, (bool | None, None))
_SHOWN: Mapping[str, Any] = dict.fromkeys(FEATURES, (bool, ...))
FeaturesIn = create_model(
    "FeaturesIn", __base__=Request, __doc__="The features to enable or disable.", __module__=__name__, **_ASKED
)
FeaturesView = create_model(
    "FeaturesView", __base__=View, __doc__="The features in force.", __module__=__name__, **_SHOWN
)


SCANNERS = ("barcode_scanner", "features.barcode_scanner")  # one setting, in either place


def _reset(reset: str) -> Rule:
    name = RESETS[reset]
    places = SCANNERS if name in SCANNERS else (name,)
    return contradiction(
        (reset, *places),
        reset,
        "A setting is both given and taken back.",
        lambda settings: getattr(settings, reset) and settings.values[name] is not None,
    )


class MobileSettingsIn(RuledRequest):
    """The settings of the mobile application. `...Null` true resets a setting to the inherited value."""

    PATHS: ClassVar[Mapping[str, str]] = {"mob_home_url_null": "MobHomeURLNull", "mob_qr_url_null": "MobQRUrlNull"}
    RULES: ClassVar[Sequence[Rule]] = (
        contradiction(
            SCANNERS,
            "barcode_scanner",
            "BarcodeScanner and Features.BarcodeScanner differ.",
            lambda settings: {settings.barcode_scanner, settings.scanner_of_features} >= {True, False},
        ),
        *map(_reset, RESETS),
    )
    SPELLINGS: ClassVar[Mapping[str, str]] = {"MobHomeUrl": "MobHomeURL", "MobQrUrl": "MobQRUrl"}

    features: FeaturesIn | None = None
    mob_home_url: Text | None = Field(None, alias="MobHomeURL")
    mob_home_url_null: bool | None = Field(None, alias="MobHomeURLNull")
    mob_qr_url: Text | None = Field(None, alias="MobQRUrl")
    mob_qr_url_null: bool | None = Field(None, alias="MobQRUrlNull")
    allow_linked_cards: Identifier | None = None
    allow_credit_voucher_reverses: Identifier | None = None
    service_pay_dashboard: bool | None = None
    service_pay_dashboard_null: bool | None = None
    mobile_app_password_store: bool | None = None
    barcode_scanner: bool | None = None
    barcode_scanner_null: bool | None = None

    def to_domain(self) -> MobileSettings:
        """Return the settings of the request. Settings that are not in it are None."""
        features = Features(**self.features.model_dump(exclude={"barcode_scanner"})) if self.features else None
        return MobileSettings(features=features, **self.values)

    @property
    def values(self) -> dict[str, Any]:
        """Return the settings without the features. BarcodeScanner is one setting, in either place."""
        values = self.model_dump(exclude={"features", *RESETS})
        scanner = self.scanner_of_features if self.barcode_scanner is None else self.barcode_scanner
        return values | {"barcode_scanner": scanner}

    @property
    def scanner_of_features(self) -> bool | None:
        """Return BarcodeScanner of the features."""
        return self.features.model_dump()["barcode_scanner"] if self.features else None

    def reset_fields(self) -> frozenset[str]:
        """Return the names of the settings to reset to the inherited value."""
        return frozenset(name for reset, name in RESETS.items() if getattr(self, reset))


class PrinterIn(Request):
    """A printer of the stage's catalogue, by its ID, its code or both."""

    printer_id: Identifier | None = None
    printer_code: Text | None = None


class MobileSettingsView(View):
    """An agent's own settings, and under `...Effective` the settings in force. `Features` are those in force."""

    features: FeaturesView
    mob_home_url: str | None = Field(alias="MobHomeURL")
    mob_home_url_null: bool = Field(alias="MobHomeURLNull")
    mob_home_url_effective: str | None = Field(alias="MobHomeURLEffective")
    mob_qr_url: str | None = Field(alias="MobQRUrl")
    mob_qr_url_null: bool = Field(alias="MobQRUrlNull")
    mob_qr_url_effective: str | None = Field(alias="MobQRUrlEffective")
    allow_linked_cards: int | None
    allow_linked_cards_effective: int
    allow_credit_voucher_reverses: int | None
    allow_credit_voucher_reverses_effective: int
    service_pay_dashboard: bool | None
    service_pay_dashboard_null: bool
    service_pay_dashboard_effective: bool
    mobile_app_password_store: bool
    barcode_scanner: bool | None
    barcode_scanner_null: bool
    barcode_scanner_effective: bool

    @classmethod
    def of(cls, own: MobileSettings | None, effective: MobileSettings) -> Self:
        """Return the view of the agent's own settings and the settings in force."""
        own = own or MobileSettings()
        names = [name for name in cls.model_fields if not name.endswith(("_null", "_effective"))]
        shown = {name: getattr(own, name) for name in names}
        shown |= {reset: getattr(own, name) is None for reset, name in RESETS.items()}
        shown |= {f"{name}_effective": getattr(effective, name) for name in names}
        features = FeaturesView.model_validate(effective.features, from_attributes=True)
        return cls(**shown | {"features": features, "mobile_app_password_store": effective.mobile_app_password_store})


class PrinterView(View):
    """An agent's own printer, and under `...Effective` the printer in force."""

    printer_id: int | None
    printer_code: str | None
    printer_id_effective: int | None = Field(alias="PrinterIDEffective")
    printer_code_effective: str | None

    @classmethod
    def of(cls, own: PrinterSettings | None, effective: PrinterSettings) -> Self:
        """Return the view of the agent's own printer and the printer in force."""
        in_force = {f"{name}_effective": value for name, value in asdict(effective).items()}
        return cls(**asdict(own or PrinterSettings()), **in_force)
