export OAUTH2_PROXY_CLIENT_SECRET="$CLIENT_SECRET" OAUTH2_PROXY_COOKIE_SECRET="cookie-secret-for-the-examples--"
# Plain http on one's own machine.
exec oauth2-proxy --config=oauth2-proxy.cfg --http-address=localhost:19400 --cookie-secure=false --upstream=static://200 --cookie-refresh=1s
