"""Gets an access token as a service does, and verifies it as the API does."""

import os

import jwt
import requests

from tessera import verify

token = requests.post(
    f"{os.environ['TESSERA_ISSUER']}/token",
    auth=("python-api", os.environ["CLIENT_SECRET"]),
    data={"grant_type": "client_credentials"},
    timeout=5,
).json()["access_token"]
print("valid for", verify(token)["client_id"])
try:
    verify(token[:-8] + "AAAAAAAA")
except jwt.PyJWTError as error:
    print("refused:", error)
