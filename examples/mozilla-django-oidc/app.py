"""A Django project in one file."""

import os

import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.urls import include, path

import oidc_settings

settings.configure(
    **{name: value for name, value in vars(oidc_settings).items() if name.startswith("OIDC_")},
    DEBUG=True,
    ALLOWED_HOSTS=["localhost"],
    SECRET_KEY=os.environ["AUTH_SECRET"],
    ROOT_URLCONF=__name__,
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "users.sqlite3"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "mozilla_django_oidc"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "mozilla_django_oidc.middleware.SessionRefresh",
    ],
    AUTHENTICATION_BACKENDS=["mozilla_django_oidc.auth.OIDCAuthenticationBackend"],
    LOGIN_URL="/oidc/authenticate/",
    LOGIN_REDIRECT_URL="/",
    LOGOUT_REDIRECT_URL="/",
    ALLOW_LOGOUT_GET_METHOD=True,
    # Seconds; short, so that the example renews its session at once.
    OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS=1,
)
django.setup()

from django.contrib.auth.decorators import login_required  # noqa: E402


@login_required
def home(request):
    return HttpResponse(request.user.email)


urlpatterns = [path("oidc/", include("mozilla_django_oidc.urls")), path("", home)]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    call_command("runserver", "19400", use_reloader=False)
