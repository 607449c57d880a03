"""Verifies an access token as an API does: a good one, and one whose signature is wrong."""

import os

import jwt

from tessera import verify

token = os.environ["ACCESS_TOKEN"]
print("valid for", verify(token)["client_id"])
try:
    verify(token[:-8] + "AAAAAAAA")
except jwt.PyJWTError as error:
    print("refused:", error)
