// Shows times where the reader is, in the reader's order, and those of lists by how long ago they are; the exact one is
// under the pointer. Without this file they are in UTC.

const { lang } = document.documentElement;
/** The language of the page, as the reader's region writes it. */
const locale = navigator.languages.find((tag) => tag === lang || tag.startsWith(`${lang}-`)) ?? lang;
const short = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

/** Longest first; what is further away than thirty days is a date. */
const units = /** @type {const} */ ([
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]);
const longestMs = 30 * 86_400_000;

/** @param {Date} date */
function awayOf(date) {
  const awayMs = date.getTime() - Date.now();
  if (Math.abs(awayMs) > longestMs) return short.format(date);
  const [unit, length] = units.find(([, ms]) => Math.abs(awayMs) >= ms) ?? ['second', 1000];
  return relative.format(Math.trunc(awayMs / length), unit);
}

function showTimes() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const date = new Date(time.getAttribute('datetime') ?? '');
    if (Number.isNaN(date.getTime())) continue;
    time.textContent = time.classList.contains('ago') ? awayOf(date) : short.format(date);
    time.setAttribute('title', exact.format(date));
  }
}

showTimes();
document.addEventListener('shown', showTimes);
setInterval(showTimes, 60_000);
