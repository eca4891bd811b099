"""Signed calls of AWS services with JSON interfaces (DynamoDB, Secrets Manager, KMS), without loading a whole SDK."""
