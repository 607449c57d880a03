"""An OpenID provider in one file: `serve`, with a new signing key at each start, or `leave <user> <group>`."""

import os
import sys
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.core.management import call_command
from django.urls import include, path
from jwcrypto import jwk

ISSUER = os.environ["ISSUER"]
# The ones of the library load styles from elsewhere.
PAGES = {
    "registration/login.html": """<!doctype html><title>Sign in</title>
<form method="post">{% csrf_token %}{{ form }}<button type="submit">Sign in</button></form>""",
    "oauth2_provider/authorize.html": """<!doctype html><title>Allow access?</title>
<form method="post">{% csrf_token %}{% for field in form.hidden_fields %}{{ field }}{% endfor %}
<input type="submit" name="allow" value="Allow"></form>""",
}

settings.configure(
    DEBUG=True,
    ALLOWED_HOSTS=["127.0.0.1"],
    SECRET_KEY=os.environ["AUTH_SECRET"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "provider.sqlite3"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", PAGES)]},
        }
    ],
    LOGIN_URL="/login/",
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": ISSUER,
        "OIDC_RSA_PRIVATE_KEY": jwk.JWK.generate(kty="RSA", size=2048).export_to_pem(True, None).decode(),
        "OAUTH2_VALIDATOR_CLASS": "__main__.Validator",
        "SCOPES": {"openid": "OpenID Connect", "profile": "Your name", "email": "Your address"},
        "PKCE_REQUIRED": True,
    },
)
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.contrib.auth.views import LoginView  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402


class Validator(OAuth2Validator):
    oidc_claim_scope = {**OAuth2Validator.oidc_claim_scope, "groups": "openid", "email_verified": "email"}

    def get_additional_claims(self):
        return {
            "email": lambda request: request.user.email,
            "email_verified": lambda request: True,
            "name": lambda request: request.user.get_full_name(),
            "given_name": lambda request: request.user.first_name,
            "family_name": lambda request: request.user.last_name,
            "groups": lambda request: [group.name for group in request.user.groups.all()],
        }


urlpatterns = [
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("login/", LoginView.as_view()),
]


def fill():
    """People and groups as `PEOPLE` has them, one a line, and the application."""
    for line in os.environ["PEOPLE"].splitlines():
        username, email, first, last, group = line.split("\t")
        if User.objects.filter(username=username).exists():
            continue
        user = User.objects.create_user(
            username, email, os.environ["PASSWORD"], first_name=first, last_name=last
        )
        if group:
            user.groups.add(Group.objects.get_or_create(name=group)[0])
    Application.objects.get_or_create(
        client_id=os.environ["CLIENT_ID"],
        defaults={
            "name": "Tessera",
            "client_secret": os.environ["CLIENT_SECRET"],
            "client_type": Application.CLIENT_CONFIDENTIAL,
            "authorization_grant_type": Application.GRANT_AUTHORIZATION_CODE,
            "redirect_uris": os.environ["REDIRECT_URI"],
            "algorithm": Application.RS256_ALGORITHM,
        },
    )


if sys.argv[1] == "leave":
    User.objects.get(username=sys.argv[2]).groups.remove(Group.objects.get(name=sys.argv[3]))
else:
    call_command("migrate", verbosity=0)
    fill()
    call_command("runserver", urlsplit(ISSUER).netloc, use_reloader=False)
