import os

from flask import Flask, session
from flask_oidc import OpenIDConnect

app = Flask(__name__)
app.secret_key = os.environ["AUTH_SECRET"]
app.config.from_object("oidc_settings")
oidc = OpenIDConnect(app)


@app.get("/")
@oidc.require_login
def home():
    return session["oidc_auth_profile"]


@app.get("/refresh")
@oidc.require_login
def refresh():
    """What flask-oidc does by itself once the access token has expired."""
    expired = session["oidc_auth_token"] | {"expires_at": 1}
    session["oidc_auth_token"] = expired
    oidc.check_token_expiry()
    return session["oidc_auth_token"] if session["oidc_auth_token"] != expired else ("error: not refreshed", 500)


app.run(port=19400)
