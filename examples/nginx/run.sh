exec nginx -p "$PWD" -c nginx.conf
