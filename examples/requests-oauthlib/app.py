"""Signs a person in from the command line. OAUTHLIB_INSECURE_TRANSPORT=1 allows plain http on one's own machine."""

from http.server import BaseHTTPRequestHandler, HTTPServer

from tessera import client_secret, metadata, tessera


class Callback(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.answer = f"http://{self.headers['Host']}{self.path}"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Done")


server = HTTPServer(("localhost", 19400), Callback)
url, _state = tessera.authorization_url(metadata["authorization_endpoint"])
print(url, flush=True)
server.handle_request()
tessera.fetch_token(
    metadata["token_endpoint"], authorization_response=server.answer, client_secret=client_secret
)
print(tessera.get(metadata["userinfo_endpoint"]).json())

tessera.refresh_token(metadata["token_endpoint"], auth=(tessera.client_id, client_secret))
print("refreshed", tessera.get(metadata["userinfo_endpoint"]).json())
