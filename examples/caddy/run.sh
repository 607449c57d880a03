exec caddy run --config Caddyfile --adapter caddyfile
