"""The network of a stage whose acquirer accepts known addresses only: functions in subnets behind a fixed address."""

from typing import Any

Template = dict[str, Any]

FUNCTIONS = {"APIHandler": "ApiHandlerRole", "SweepPayments": "SweepPaymentsRole"}  # that call acquirers, and roles
# Those of AWSLambdaVPCAccessExecutionRole, AWS's own policy for functions in a VPC; EC2 knows no narrower resource.
ACTIONS = [
    f"ec2:{action}"
    for action in (
        "CreateNetworkInterface",
        "DescribeNetworkInterfaces",
        "DescribeSubnets",
        "DeleteNetworkInterface",
        "AssignPrivateIpAddresses",
        "UnassignPrivateIpAddresses",
    )
]


def vpc_config() -> Template:
    """Return the property of a function that places it in the subnets of the parameters, if there are any."""
    inside = {
        "SubnetIds": {"Ref": "SubnetIds"},
        "SecurityGroupIds": {"Ref": "SecurityGroupIds"},
    }
    return {"VpcConfig": {"Fn::If": ["HasSubnets", inside, {"Ref": "AWS::NoValue"}]}}


def network_policy() -> Template:
    """Return the permission to have network interfaces, which a function in a subnet needs."""
    statement = {"Effect": "Allow", "Action": ACTIONS, "Resource": "*"}
    return {
        "NetworkPolicy": {
            "Type": "AWS::IAM::Policy",
            "Condition": "HasSubnets",
            "Properties": {
                "PolicyName": "network-interfaces",
                "PolicyDocument": {"Version": "2012-10-17", "Statement": [statement]},
                "Roles": [{"Ref": role} for role in FUNCTIONS.values()],
            },
        }
    }
