# What kubectl calls, with the arguments of the kubeconfig: a sign-in, a refresh, and a sign-in by the device flow.
set -e
get_token() {
    grep -o -e '--oidc-[^ ]*' kubeconfig.yaml | xargs kubelogin get-token --skip-open-browser --token-cache-dir="$PWD/cache" "$@"
}
rm -rf cache
get_token
get_token --force-refresh
echo refreshed
rm -rf cache
get_token --grant-type=device-code
