/** `npm run test:all`: what `npm test` leaves out runs too. */
export const runsEverything = process.env['TESSERA_TEST_ALL'] !== undefined;

/** A store's address as `npm test` hands it to the tests. */
export function requiredUrl(variable: 'TESSERA_TEST_DATABASE_URL' | 'TESSERA_TEST_REDIS_URL'): string {
  const url = process.env[variable];
  if (!url) throw new Error(`${variable} is not set: run the tests with \`npm test -- <path>\`.`);
  return url;
}
