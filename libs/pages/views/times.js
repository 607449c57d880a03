// Shows times where the reader is, in the reader's order, and the exact one under the pointer. Without this file they
// are in UTC.

const { lang } = document.documentElement;
/** The language of the page, as the reader's region writes it. */
const locale = navigator.languages.find((tag) => tag === lang || tag.startsWith(`${lang}-`)) ?? lang;
const short = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' });

for (const time of document.querySelectorAll('time[datetime]')) {
  const date = new Date(time.getAttribute('datetime') ?? '');
  if (Number.isNaN(date.getTime())) continue;
  time.textContent = short.format(date);
  time.setAttribute('title', exact.format(date));
}
