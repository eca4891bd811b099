"""The parameters of a deployment, checked before anything is uploaded: CloudFormation would find some too late."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import boto3
from botocore.exceptions import ClientError

from chalicelib import iso_codes
from infra.stack.cloudformation import deployed
from infra.stack.releases import RELEASE, RELEASE_BEFORE, DeployError
from infra.stack.resources import FUNCTION_TYPE

Parameters = Mapping[str, Mapping[str, Any]]  # of a template

# Each of these parameters works only with the other.
NEEDED = (
    *(("SubnetIds", "SecurityGroupIds"), ("SecurityGroupIds", "SubnetIds")),
    *(("BaseDomain", "CertificateArn"), ("ProcessingDomain", "CertificateArn")),
    *(("SalesFrom", "SalesHours"), ("SalesDays", "SalesHours"), ("MonthlyBudget", "AlarmEmail")),
)
WITH_A_DEFAULT = {"SalesFrom", "SalesDays"}
NONE = {"", "0"}
IDS = {"SubnetIds": "subnet", "SecurityGroupIds": "sg"}
WHOLE = re.compile("[A-Za-z]*Concurrency|SalesFrom|SalesHours|LogDays")
SPARE_CONCURRENCY = 100  # Lambda keeps it for functions without a reserved concurrency


def read(words: Sequence[str]) -> dict[str, str]:
    """Return the parameters in words like NAME=VALUE. Raises DeployError for another word."""
    if wrong := [word for word in words if not re.fullmatch("[A-Za-z]+=.*", word, re.DOTALL)]:
        message = f"{', '.join(wrong)}: a parameter is NAME=VALUE, a blank stands between two, and none in a value."
        raise DeployError(message)
    return dict(word.split("=", 1) for word in words)


def problems(given: Mapping[str, str], known: Parameters | None, region: str) -> Iterator[str]:
    """Yield what is wrong with the given parameters, whatever the stack has.

    `known` has the template's; None: CloudFormation compares them. The region is empty while nobody knows it.
    """
    yield from _malformed(given)
    if known is None:
        return
    for name, value in given.items():
        if name in known:
            if problem := _of_value(value, known[name]):
                yield f"{name} is {value}: {problem}."
        elif name not in {RELEASE, RELEASE_BEFORE}:
            close = get_close_matches(name, known, n=1)
            yield f"There is no parameter {name}" + (f"; there is {close[0]}." if close else ".")
    certificate = given.get("CertificateArn", "")
    if region and certificate.startswith("arn:") and certificate.split(":")[3] != region:
        yield f"CertificateArn is in the region {certificate.split(':')[3]}, and the stage in {region}."


def contradictions(given: Mapping[str, str], kept: Mapping[str, str]) -> Iterator[str]:
    """Yield each parameter that cannot work beside the others, given or kept by the stack."""
    together = {**kept, **given}
    for name, other in NEEDED:
        chosen = given if name in WITH_A_DEFAULT else together
        if chosen.get(name, "") not in NONE and together.get(other, "") in NONE:
            yield f"{name} needs {other}."
    base, processing = (together.get(name) for name in ("BaseDomain", "ProcessingDomain"))
    if base and base == processing:
        yield "ProcessingDomain is the same host as BaseDomain."


def _malformed(given: Mapping[str, str]) -> Iterator[str]:
    """Yield the problem of each parameter that can never work, which no pattern of the template says."""
    for name, value in given.items():
        if WHOLE.fullmatch(name) and value and not value.isdecimal():
            yield f"{name} is {value}, which is not a whole number."
        if joined := re.search(",([A-Z][A-Za-z]+)=", value):
            yield f"{name} holds {joined[1]}: write a blank between two parameters, not a comma."
        if kind := IDS.get(name):
            wrong = [one for one in filter(None, value.split(",")) if not re.fullmatch(f"{kind}-[0-9a-z]+", one)]
            yield from (f"{name} names {one}; such an ID begins with {kind}-." for one in wrong)
    for country in filter(None, given.get("SmsCountries", "").split(",")):
        if iso_codes.country_code(country) != country:
            yield f"SmsCountries names {country}, which is no country of ISO 3166."


def _of_value(value: str, parameter: Mapping[str, Any]) -> str | None:
    expected = str(parameter.get("ConstraintDescription", ""))
    if "AllowedPattern" in parameter and not re.fullmatch(parameter["AllowedPattern"], value):
        return f"it is {expected or parameter['AllowedPattern']}"
    allowed = [str(one) for one in parameter.get("AllowedValues", ())]
    if allowed and value not in allowed:
        return f"it is {expected or ', '.join(allowed)}"
    if parameter["Type"] != "Number":
        return None
    try:
        number = float(value)
    except ValueError:
        return "it is a number"
    lowest, highest = parameter.get("MinValue", number), parameter.get("MaxValue", number)
    if lowest <= number <= highest:
        return None
    return f"it is at least {lowest}" if number < lowest else f"it is at most {highest}"


def quota(sam: Mapping[str, Any], **parameters: str) -> int:
    """Return the concurrent executions that an account needs for the template with these parameters."""
    functions = (one for one in deployed(sam, **parameters).values() if one["Type"] == FUNCTION_TYPE)
    return sum(int(one["Properties"].get("ReservedConcurrentExecutions", 0)) for one in functions) + SPARE_CONCURRENCY


def beyond_the_quota(sam: Mapping[str, Any], parameters: Mapping[str, str]) -> Iterator[str]:
    """Yield the problem of concurrencies that the account's quota does not allow."""
    known = {name: value for name, value in parameters.items() if name in sam["Parameters"]}
    try:
        limit = boto3.client("lambda").get_account_settings()["AccountLimit"].get("ConcurrentExecutions")
    except ClientError as refusal:
        print(f"Lambda's quota is not checked: {refusal.response['Error']['Code']}.", flush=True)
        return
    if limit and (needed := quota(sam, **known)) > limit:
        yield (
            f"The concurrencies need Lambda's quota of {needed} concurrent executions, and the account has {limit}: "
            "ask for more, or set AuthorizerConcurrency, StreamConcurrency and SweepConcurrency to 0."
        )
