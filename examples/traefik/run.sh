mkdir -p dynamic
cp api.yaml tessera.yaml dynamic
exec traefik --configFile=traefik.yaml
