"""An API that verifies access tokens of a realm by its key set, and lets in who has the realm role clerk."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt

ISSUER = "http://localhost:19496/realms/harbour"
keys = jwt.PyJWKClient(f"{ISSUER}/protocol/openid-connect/certs")


def verify(token):
    key = keys.get_signing_key_from_jwt(token).key
    return jwt.decode(token, key, algorithms=["RS256"], audience="orders-api", issuer=ISSUER)


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        try:
            if scheme.lower() != "bearer":
                return self.answer(401, {"error": "no token"})
            claims = verify(token)
        except jwt.PyJWTError as error:
            return self.answer(401, {"error": str(error)})
        roles = claims["realm_access"]["roles"]
        if "clerk" not in roles:
            return self.answer(403, {"error": "only for clerks"})
        self.answer(200, {"sub": claims["sub"], "name": claims["preferred_username"], "roles": roles})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", 19504), Api).serve_forever()
