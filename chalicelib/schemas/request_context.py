"""The request context (place, device, account), and query strings."""

from typing import Annotated, ClassVar

from pydantic import Field

from chalicelib.schemas.base import Answer, Identifier, Latitude, Longitude, Request, State, Text

ZoneHours = Annotated[int, Field(ge=-12, le=14)]


class Location(Request):
    """A geographical position, in degrees."""

    latitude: Latitude
    longitude: Longitude


class DeviceInfo(Request):
    """The caller's device."""

    phone_manufacturer: Text | None = None
    phone_model: Text | None = None
    device_id: Text | None = None
    device_type: Text | None = None
    app_framework: Text | None = None
    os: Text | None = None
    os_version: Text | None = Field(None, alias="OSVersion")
    app_id: Text | None = None
    build_number: Text | None = None


class ZoneQuery(Request):
    """The query string of a GET: the zone of the times in its answer."""

    gmt: ZoneHours | None = None


class Context(Request):
    """The common request context. A subclass makes the fields that its operation needs required."""

    JUDGED: ClassVar[tuple[str, ...]] = ()

    location: Location | None = None
    country: Text | None = None
    country_code: Text | None = None
    device_info: DeviceInfo | None = None
    gmt: ZoneHours | None = None
    app_framework: Text | None = None
    lang: Text | None = None
    ip: Text | None = None
    current_account_id: Identifier | None = None


class HealthQuery(Request):
    """The query of the health check. Without `deep`, it checks only that the function answers."""

    deep: State = Field(0, alias="deep")


class HealthAnswer(Answer):
    """The answer of the health check."""

    version: str
