import os
from urllib.parse import urlencode

from flask import Flask, redirect, session, url_for

from tessera import oauth

app = Flask(__name__)
app.secret_key = os.environ["AUTH_SECRET"]
oauth.init_app(app)


@app.get("/")
def home():
    if "token" not in session:
        return oauth.tessera.authorize_redirect(url_for("callback", _external=True))
    return oauth.tessera.userinfo(token=session["token"])


@app.get("/callback")
def callback():
    token = oauth.tessera.authorize_access_token()
    session["token"] = {name: token[name] for name in ("access_token", "token_type", "refresh_token", "id_token")}
    return redirect("/")


@app.get("/refresh")
def refresh():
    token = oauth.tessera.fetch_access_token(
        grant_type="refresh_token", refresh_token=session["token"]["refresh_token"]
    )
    session["token"] |= {name: token[name] for name in ("access_token", "refresh_token")}
    return token


@app.get("/logout")
def logout():
    query = {
        "id_token_hint": session.pop("token")["id_token"],
        "post_logout_redirect_uri": url_for("home", _external=True),
    }
    return redirect(f"{oauth.tessera.load_server_metadata()['end_session_endpoint']}?{urlencode(query)}")


app.run(port=19400)
