set -e
token=$(curl -sf -u "envoy:$CLIENT_SECRET" -d grant_type=client_credentials "$TESSERA_ISSUER/token" | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
# The printed filter, as the first of the list of filters.
sed 's,^,                    ,; 1s,^  *,                  - ,' envoy.yaml > filter.yaml
sed '/# tessera/r filter.yaml' proxy.yaml > complete.yaml
envoy -c complete.yaml --concurrency 1 --log-level warn &
trap 'kill $!' EXIT
until curl -s http://127.0.0.1:19401 >/dev/null; do sleep 0.2; done
curl -s -o answer -w 'without a token: %{http_code}\n' http://127.0.0.1:19401/
curl -s -o answer -w 'with a wrong one: %{http_code}\n' -H 'Authorization: Bearer wrong' http://127.0.0.1:19401/
curl -sf -D headers -H "Authorization: Bearer $token" -H 'X-Auth-Subject: forged' http://127.0.0.1:19401/
grep -i '^x-seen-subject' headers
