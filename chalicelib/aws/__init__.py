"""Signed calls of the JSON interfaces of AWS (DynamoDB, Secrets Manager, KMS), without the weight of a whole SDK."""
