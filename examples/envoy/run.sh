set -e
# The printed filter, as the first of the list of filters.
sed 's,^,                    ,; 1s,^  *,                  - ,' envoy.yaml > filter.yaml
sed '/# tessera/r filter.yaml' proxy.yaml > complete.yaml
exec envoy -c complete.yaml --concurrency 1 --log-level warn
