set -e
token=$(curl -sf -u "nginx:$CLIENT_SECRET" -d grant_type=client_credentials "$TESSERA_ISSUER/token" | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
nginx -p "$PWD" -c nginx.conf &
trap 'kill $!' EXIT
until curl -s http://127.0.0.1:8081 >/dev/null; do sleep 0.2; done
curl -s -o /dev/null -w 'without a token: %{http_code}\n' http://127.0.0.1:19401/
curl -s -o /dev/null -w 'with a wrong one: %{http_code}\n' -H 'Authorization: Bearer wrong' http://127.0.0.1:19401/
curl -sf -H "Authorization: Bearer $token" -H 'X-Auth-Subject: forged' http://127.0.0.1:19401/
