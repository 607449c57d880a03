/** What `DATABASE_URL` and `REDIS_URL` may say, for settings: it loads no driver. */
export { parsePostgresUrl, requireFiles } from './postgres/postgres-url.ts';
export { parseRedisUrl } from './redis/redis-url.ts';
